import { openAsBlob } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { app, dialog } from 'electron';
import type { RunningNode } from '../server/node.ts';
import type { DesktopWindow } from './window.ts';

const EXTENSION = '.pack.zip';

/** Queues the pack files that the system asks the app to open. macOS does so before the event `ready`. */
export function queueOpenedFiles(): OpenedFiles {
  const waiting = packFilesIn(process.argv.slice(1), process.cwd());
  let open: (path: string) => void = (path) => waiting.push(path);
  app.on('open-file', (event, path) => {
    event.preventDefault();
    open(path);
  });
  app.on('second-instance', (_event, argv, folder) => {
    for (const path of packFilesIn(argv.slice(1), folder)) open(path);
  });
  return {
    handOver(listener) {
      open = listener;
      for (const path of waiting.splice(0)) listener(path);
    },
  };
}

export interface OpenedFiles {
  /** Calls the listener for each queued file, and then for each new one. */
  handOver(listener: (path: string) => void): void;
}

function packFilesIn(argv: readonly string[], folder: string): string[] {
  return argv.filter((argument) => argument.endsWith(EXTENSION)).map((path) => resolve(folder, path));
}

/** Adds each opened pack file to the archive after confirmation, and shows the pack. */
export function setUpPackFiles(files: OpenedFiles, node: RunningNode, window: DesktopWindow): void {
  files.handOver((path) => {
    window.show();
    confirmAndAdd(path, node, window).catch((error: unknown) => showFailure(path, error));
  });
}

async function confirmAndAdd(path: string, node: RunningNode, window: DesktopWindow): Promise<void> {
  const { response } = await dialog.showMessageBox({
    type: 'question',
    message: `Add the pack in ${basename(path)} to this archive?`,
    detail: 'All files in it are checked first. A pack cannot be removed from the archive.',
    buttons: ['Add to the archive', 'Cancel'],
    defaultId: 0,
    cancelId: 1,
  });
  if (response === 0) window.goTo(`/packs/${await addPackFile(path, node)}`);
}

/** Uploads a pack file and returns the pack's id, also if the archive already holds the pack. */
async function addPackFile(path: string, node: RunningNode): Promise<string> {
  const token = (await readFile(node.tokenFile, 'utf8')).trim();
  const response = await fetch(new URL('/api/packs', node.url), {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/zip' },
    body: await openAsBlob(path),
  });
  const body = (await response.json()) as { id: string } | { detail: string };
  if ('detail' in body) throw new Error(body.detail);
  return body.id;
}

function showFailure(path: string, error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  dialog.showErrorBox(`${basename(path)} was not added`, message);
}
