import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildEnvironment, type EnvironmentPolicy } from './env.ts';
import { passwdShell, terminalEnvironment } from './terminal-env.ts';

/** The environment of the server in the recorded exchanges. */
const SERVER = {
  A_SECRET: 's',
  EDITOR: 'vi',
  FOO_KEY: 'k',
  HOME: '/home/example',
  LANG: 'C.UTF-8',
  MY_TOKEN: 't',
  PATH: '/usr/bin:/bin',
  PLAIN: 'p',
  SHELL: '/bin/bash',
  TERM: 'xterm-x',
  TMPDIR: '/tmp',
  USER: 'example',
  GONE: undefined,
};

function withPolicy(policy: Partial<EnvironmentPolicy>, overlay: Record<string, string> = {}): Record<string, string> {
  const nothing = { inherit: 'all', ignoreDefaultExcludes: false, exclude: [], set: {}, includeOnly: [] } as const;
  return buildEnvironment({ policy: { ...nothing, ...policy }, overlay, server: SERVER, platform: 'linux' });
}

const namesWith = (policy: Partial<EnvironmentPolicy>): string => Object.keys(withPolicy(policy)).join(' ');

test('without a policy the child has exactly the variables of the request', () => {
  for (const policy of [undefined, null]) {
    expect(buildEnvironment({ policy, overlay: { A: '1', 'A=B': 'b', '': 'c' }, server: SERVER })).toEqual({
      A: '1',
      'A=B': 'b',
      '': 'c',
    });
  }
});

test('inherit all leaves out names that look like secrets unless asked to keep them', () => {
  expect(namesWith({})).toBe('EDITOR HOME LANG PATH PLAIN SHELL TERM TMPDIR USER');
  expect(namesWith({ ignoreDefaultExcludes: true })).toBe(
    'A_SECRET EDITOR FOO_KEY HOME LANG MY_TOKEN PATH PLAIN SHELL TERM TMPDIR USER',
  );
});

test('inherit core takes the core names in any case, inherit none nothing', () => {
  expect(namesWith({ inherit: 'core' })).toBe('HOME LANG PATH SHELL TMPDIR USER');
  expect(namesWith({ inherit: 'none' })).toBe('');
  const policy = { inherit: 'core', ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [] } as const;
  expect(buildEnvironment({ policy, overlay: {}, server: { path: 'x', Pathy: 'y' }, platform: 'linux' })).toEqual({
    path: 'x',
  });
});

test('exclude is a list of wildcards, set is not subject to it, the overlay to nothing', () => {
  expect(withPolicy({ exclude: ['pl*', 'E?ITOR', 'home'] }, { PLAIN2: 'x' })).toEqual({
    LANG: 'C.UTF-8',
    PATH: '/usr/bin:/bin',
    PLAIN2: 'x',
    SHELL: '/bin/bash',
    TERM: 'xterm-x',
    TMPDIR: '/tmp',
    USER: 'example',
  });
  expect(withPolicy({ inherit: 'none', exclude: ['Q'], set: { Q: '1', B_KEY: '2' } }, { Z: '1' })).toEqual({
    B_KEY: '2',
    Q: '1',
    Z: '1',
  });
});

test('includeOnly keeps matches only, of set as well, but not of the overlay', () => {
  const policy = { set: { PATHX: '1', OTHER: '2' }, includeOnly: ['PATH*', 'P*n'] };
  expect(withPolicy(policy, { OVER: '3' })).toEqual({ OVER: '3', PATH: '/usr/bin:/bin', PATHX: '1', PLAIN: 'p' });
});

test('the overlay wins over set and set over what is inherited', () => {
  expect(withPolicy({ includeOnly: ['plain', 'user'], set: { PLAIN: 'set', USER: 'set' } }, { USER: 'over' })).toEqual({
    PLAIN: 'set',
    USER: 'over',
  });
});

test('credentials never reach a child, wherever they come from', () => {
  const overlay = {
    node_repl_auth_token: '1',
    NODE_REPL_AUTH_TOKEN: '2',
    CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE: '1',
    codex_exec_server_exit_on_stdin_close: 'kept: only the exact name is removed',
    OPENAI_FEDERATION_RULE_ID: '4',
    CODEX_THREAD_ID: 'th',
    MY_KEY: 'keep',
  };
  expect(Object.keys(buildEnvironment({ policy: undefined, overlay, server: {} }))).toEqual([
    'CODEX_THREAD_ID',
    'MY_KEY',
    'codex_exec_server_exit_on_stdin_close',
  ]);
});

test('the token of the server and the names it calls secret are removed at the end', () => {
  const policy = {
    inherit: 'all',
    ignoreDefaultExcludes: true,
    exclude: [],
    set: { farhand_token: '1' },
    includeOnly: [],
  } as const;
  const server = { FARHAND_TOKEN: 'secret', SIGNING: 'secret', OTHER: 'o' };
  const overlay = { FARHAND_TOKEN: 'again', SIGNING: 'again' };
  expect(buildEnvironment({ policy, overlay, server, secretNames: ['SIGNING'], platform: 'linux' })).toEqual({
    OTHER: 'o',
  });
});

test('a variable called __proto__ is a variable like any other', () => {
  const overlay: Record<string, string> = JSON.parse('{"__proto__":"x"}');
  const built = buildEnvironment({ policy: undefined, overlay, server: {} });
  expect(Object.entries(built)).toEqual([['__proto__', 'x']]);
});

test('Windows has its own core names and always a PATHEXT', () => {
  const policy = { inherit: 'core', ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [] } as const;
  const server = { Path: 'C:\\', SystemRoot: 'C:\\Windows', HOME: 'x', 'ProgramFiles(x86)': 'y' };
  expect(buildEnvironment({ policy, overlay: {}, server, platform: 'win32' })).toEqual({
    PATHEXT: '.COM;.EXE;.BAT;.CMD',
    Path: 'C:\\',
    'ProgramFiles(x86)': 'y',
    SystemRoot: 'C:\\Windows',
  });
  expect(buildEnvironment({ policy, overlay: {}, server: { PathExt: '.X' }, platform: 'win32' })).toEqual({
    PathExt: '.X',
  });
});

test('whatever the policy, the overlay is kept, nothing is invented and the names are sorted', () => {
  const anyName = fc.constantFrom('A', 'B', 'PATH', 'API_KEY', 'lower', 'FARHAND_TOKEN', 'Z');
  const variables = fc.dictionary(anyName, fc.string({ maxLength: 3 }));
  const patterns = fc.array(fc.constantFrom('*', 'A*', '?', 'p*h', '*_*'), { maxLength: 3 });
  const policies = fc.option(
    fc.record({
      inherit: fc.constantFrom('all', 'core', 'none'),
      ignoreDefaultExcludes: fc.boolean(),
      exclude: patterns,
      set: variables,
      includeOnly: patterns,
    }),
  );
  fc.assert(
    fc.property(policies, variables, variables, (policy, overlay, server) => {
      const built = buildEnvironment({ policy, overlay, server, platform: 'linux' });
      const expected = Object.entries(overlay).filter(([name]) => name !== 'FARHAND_TOKEN');
      expect(built).toMatchObject(Object.fromEntries(expected));
      for (const [name, value] of Object.entries(built)) {
        expect([overlay[name], policy?.set[name], server[name]]).toContain(value);
      }
      const names = Object.keys(built);
      for (let at = 1; at < names.length; at += 1) expect(`${names[at - 1]}` < `${names[at]}`).toBe(true);
      expect(built).not.toHaveProperty('FARHAND_TOKEN');
      if (!policy) expect(Object.keys(built)).toHaveLength(expected.length);
    }),
  );
});

test('a terminal adds the login shell when SHELL is absent and nothing else', () => {
  expect(terminalEnvironment({ A: '1', Z: '2' }, () => '/bin/zsh')).toEqual({ A: '1', SHELL: '/bin/zsh', Z: '2' });
  expect(terminalEnvironment({ SHELL: '' }, () => '/bin/zsh')).toEqual({ SHELL: '' });
  expect(passwdShell()).toMatch(/^\//);
});
