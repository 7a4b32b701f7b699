/**
 * The real client: Codex as it was released, with a home of its own, talking to our stand-in for the model. How it is
 * told about the server is the test's choice.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Child } from './child.ts';

/** How Codex learns of the server; `none` leaves it to run commands by itself. */
export type Wiring =
  | { by: 'variable'; url: string }
  | { by: 'file'; url: string }
  | { by: 'program'; command: string[]; cwd: string; env: Record<string, string> }
  | { by: 'none' };

type CodexOptions = { modelUrl: string; workspace: string; env: Record<string, string>; wiring: Wiring };

// JSON strings and arrays of them are valid TOML.
const toml = (value: string | string[]): string => JSON.stringify(value);

const configFile = (modelUrl: string, workspace: string): string => `
model = "gpt-5.5"
model_provider = "stand-in"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
plugins = false
apps = false

[model_providers.stand-in]
name = "stand-in"
base_url = ${toml(modelUrl)}
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0
supports_websockets = false

[projects.${toml(workspace)}]
trust_level = "trusted"
`;

function environmentsFile(wiring: Wiring): string | undefined {
  if (wiring.by === 'none' || wiring.by === 'variable') return undefined;
  const head = 'default = "box"\ninclude_local = false\n\n[[environments]]\nid = "box"\n';
  if (wiring.by === 'file') return `${head}url = ${toml(wiring.url)}\n`;
  const [program = '', ...args] = wiring.command;
  const env = Object.entries(wiring.env).map(([name, value]) => `${name} = ${toml(value)}`);
  return [
    `${head}program = ${toml(program)}`,
    `args = ${toml(args)}`,
    `cwd = ${toml(wiring.cwd)}`,
    '[environments.env]',
    ...env,
    '',
  ].join('\n');
}

export class Codex {
  readonly child: Child;
  readonly #home: string;

  constructor({ modelUrl, workspace, env, wiring }: CodexOptions) {
    const { CODEX_BIN: binary, FARHAND_INTEROP_HOMES: homes } = process.env;
    if (!binary || !homes) throw new Error('run this suite with: npm run interop');
    this.#home = mkdtempSync(join(homes, 'home-'));
    writeFileSync(join(this.#home, 'config.toml'), configFile(modelUrl, workspace));
    const environments = environmentsFile(wiring);
    if (environments) writeFileSync(join(this.#home, 'environments.toml'), environments);
    const ask = ['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
    this.child = new Child('codex', [binary, ...ask, '-C', workspace, 'go'], {
      cwd: workspace,
      env: {
        ...env,
        CODEX_HOME: this.#home,
        RUST_LOG: 'warn',
        ...(wiring.by === 'variable' ? { CODEX_EXEC_SERVER_URL: wiring.url } : {}),
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.child[Symbol.asyncDispose]();
    } finally {
      rmSync(this.#home, { recursive: true, force: true });
    }
  }
}
