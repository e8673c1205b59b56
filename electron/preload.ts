import { contextBridge, type IpcRendererEvent, ipcRenderer } from 'electron';
import type { DesktopApi } from '../shared/node/owner.ts';
import { type DesktopCalls, type DesktopMessages, VERSION_ARGUMENT } from './channels.ts';

function call<Channel extends keyof DesktopCalls>(
  channel: Channel,
  ...args: Parameters<DesktopCalls[Channel]>
): Promise<ReturnType<DesktopCalls[Channel]>> {
  return ipcRenderer.invoke(channel, ...args) as Promise<ReturnType<DesktopCalls[Channel]>>;
}

function listen<Channel extends keyof DesktopMessages>(
  channel: Channel,
  listener: (...args: DesktopMessages[Channel]) => void,
): () => void {
  // The event object would let the page send messages on any channel.
  const withoutEvent = (_event: IpcRendererEvent, ...args: unknown[]) =>
    listener(...(args as DesktopMessages[Channel]));
  ipcRenderer.on(channel, withoutEvent);
  return () => void ipcRenderer.off(channel, withoutEvent);
}

const versionArgument = process.argv.find((argument) => argument.startsWith(VERSION_ARGUMENT));

const api: DesktopApi = {
  platform: process.platform,
  version: versionArgument?.slice(VERSION_ARGUMENT.length) ?? '',
  readPreferences: () => call('desktop:read-preferences'),
  changePreferences: (change) => call('desktop:change-preferences', change),
  showDataFolder: () => call('desktop:show-data-folder'),
  showLog: () => call('desktop:show-log'),
  readArchives: () => call('desktop:read-archives'),
  chooseFolder: () => call('desktop:choose-folder'),
  openArchive: (folder) => call('desktop:open-archive', folder),
  createArchive: (folder) => call('desktop:create-archive', folder),
  moveArchive: (folder) => call('desktop:move-archive', folder),
  readMoveProgress: () => call('desktop:read-move-progress'),
  onGoTo: (listener) => listen('desktop:go-to', listener),
  onFind: (listener) => listen('desktop:find', listener),
};

contextBridge.exposeInMainWorld('strongroomDesktop', api);
