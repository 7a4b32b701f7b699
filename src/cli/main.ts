/** The `farhand` command: finds the subcommand and prints what went wrong. Everything else is in commands/. */
import { serve } from './commands/serve.ts';
import { SERVE_HELP } from './commands/serve-options.ts';
import { UsageError } from './options.ts';
import { VERSION } from './version.ts';

const HELP = `farhand ${VERSION}: hands on another machine.

Usage: farhand <command> [options]

Commands:
  serve        serve processes to clients over WebSocket or stdio
  exec-server  the same under the reference's name, for drop-in use
  doctor       say what this machine can do and which parts are in use

  --version    print the version
  --help       print this; 'farhand <command> --help' tells more
`;

type Command = { run(args: readonly string[]): Promise<number>; help: string };

const COMMANDS: Record<string, Command> = {
  serve: { run: serve, help: SERVE_HELP },
  'exec-server': { run: serve, help: SERVE_HELP },
  doctor: {
    run: async (args) => await (await import('./commands/doctor.ts')).doctor(args),
    help: 'Usage: farhand doctor [--json]\n\nSays what this machine can do and which parts are in use.\n',
  },
};

async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === '--version' || name === '-V') return print(`farhand ${VERSION}\n`);
  if (name === undefined || name === '--help' || name === '-h' || name === 'help') return print(HELP);
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command) throw new UsageError(`unrecognized subcommand '${name}'`);
  if (args.includes('--help') || args.includes('-h')) return print(command.help);
  return await command.run(args);
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}

main(process.argv.slice(2)).then(
  (status) => {
    process.exitCode = status;
  },
  (error: unknown) => {
    if (error instanceof UsageError) {
      process.stderr.write(`error: ${error.message}\n\nFor more information, try '--help'.\n`);
      process.exitCode = 2;
    } else {
      process.stderr.write(`Error: ${error instanceof Error ? error.message : String(error)}\n`);
      process.exitCode = 1;
    }
  },
);
