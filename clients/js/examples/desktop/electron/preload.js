'use strict';

// All that the page gets of Electron. `page/bridge.mjs` is the same for a browser.
const { contextBridge, ipcRenderer, webUtils } = require('electron');

async function ask(channel, ...args) {
  const { value, error } = await ipcRenderer.invoke(channel, ...args);
  if (error !== undefined) throw new Error(error);
  return value;
}

contextBridge.exposeInMainWorld('electronBridge', {
  /** Calls `onChange` with each change, from the moment of the snapshot that it resolves with. */
  open: (onChange) => {
    ipcRenderer.on('change', (event, change) => onChange(change));
    return ask('snapshot');
  },
  call: (command, args) => ask('call', command, args),
  add: (path) => ask('add', path),
  /** Where a file lies that was dropped or chosen. Electron before 32 tells it by `file.path`. */
  pathOf: (file) => (webUtils ? webUtils.getPathForFile(file) : undefined),
  showProgress: (fraction) => ipcRenderer.send('progress', fraction),
});
