/**
 * Stands in for Electron's main-process module where its program cannot be had: the parts that Strongroom uses, with
 * Electron's own names and order of events. Windows are pages of a real Chromium, which the process that started this
 * one opens (`host.ts`). Not covered: isolated worlds, native menus, tray and dialogs, the packaged app, signing.
 */
export { app } from './app.ts';
export { Menu, Notification, nativeImage, Tray } from './natives.ts';
export { dialog, screen, session, shell } from './system.ts';
export { utilityProcess } from './utilityProcess.ts';
export { BrowserWindow, ipcMain } from './window.ts';
