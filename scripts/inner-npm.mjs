// npm started from inside an npm script: how to call it, and with which environment.

export const npmCommand = process.env.npm_execpath?.endsWith('.js')
  ? [process.execPath, process.env.npm_execpath]
  : ['npm'];

// An outer npm exports its own command line and settings as npm_*; the inner one must not inherit those, or
// `omit=dev` and the like leave us without a compiler.
export function innerNpmEnvironment() {
  const keep =
    /^npm_config_(cache|registry|userconfig|globalconfig|cafile|nodedir|offline|prefer_offline|https?_proxy|proxy|noproxy)$/i;
  const kept = Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name) || keep.test(name));
  const environment = Object.fromEntries(kept);
  delete environment.INIT_CWD;
  delete environment.NODE_ENV;
  return environment;
}
