// For programs that tests run in a process of their own, to kill it or to end it in odd ways: the native addon without
// anything of ours around it. `node -e` starts them, so this is plain JavaScript.
exports.open = (addonPath) => {
  const addon = require(addonPath);

  function start(argv, { begin = true, terminal = false, inputPipe = false, descriptors = [] } = {}) {
    const child = new addon.Child({
      strings: Buffer.from([argv[0], '/', ...argv, 'PATH=/usr/bin:/bin', ''].join('\0')),
      argumentCount: argv.length,
      variableCount: 1,
      inputPipe,
      terminal,
      rows: 24,
      cols: 80,
      descriptors: Int32Array.from(descriptors),
    });
    const state = { child, pid: child.pid, text: '', status: undefined };
    const ended = new Promise((resolve) => {
      let missing = 2;
      state.begin = () =>
        child.begin((event, first, second) => {
          if (event === 0) state.text += second.toString();
          if (event === 1) state.status = [first, second];
          if (event === 1 || event === 2) missing -= 1;
          if (missing === 0) resolve(state);
        });
    });
    state.finished = ended;
    if (begin) state.begin();
    return state;
  }

  return { addon, start, shell: (script, options) => start(['/bin/sh', '-c', script], options) };
};
