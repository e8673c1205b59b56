/**
 * Replaces Electron's main-process module where Electron is not installed: the parts that Strongroom uses, with the same
 * names and order of events. Windows are pages of a real Chromium, opened by the parent process (`host.ts`). Not covered:
 * isolated worlds, native menus, tray and dialogs, the packaged app, signing.
 */
export { app } from './app.ts';
export { Menu, Notification, nativeImage, Tray } from './natives.ts';
export { dialog, powerMonitor, screen, session, shell } from './system.ts';
export { utilityProcess } from './utilityProcess.ts';
export { BrowserWindow, ipcMain } from './window.ts';
