import { openAsBlob } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { app, dialog } from 'electron';
import type { RunningNode } from '../server/node.ts';
import type { DesktopWindow } from './window.ts';

const ENDING = '.pack.zip';

/** Collects the pack files that the system asks to open, from the first moment on: macOS does so before `ready`. */
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
  /** From now on each file is told to the listener, those that waited first. */
  handOver(listener: (path: string) => void): void;
}

function packFilesIn(argv: readonly string[], folder: string): string[] {
  return argv.filter((argument) => argument.endsWith(ENDING)).map((path) => resolve(folder, path));
}

/** A pack file that is opened is added to the archive, once the person has said so, and shown. */
export function setUpPackFiles(files: OpenedFiles, node: RunningNode, window: DesktopWindow): void {
  files.handOver((path) => {
    window.show();
    addWhenAgreed(path, node, window).catch((error: unknown) => tellRefusal(path, error));
  });
}

async function addWhenAgreed(path: string, node: RunningNode, window: DesktopWindow): Promise<void> {
  const { response } = await dialog.showMessageBox({
    type: 'question',
    message: `Add the pack in ${basename(path)} to this archive?`,
    detail: 'Every file in it is checked first. What is recorded in the archive stays there.',
    buttons: ['Add to the archive', 'Cancel'],
    defaultId: 0,
    cancelId: 1,
  });
  if (response === 0) window.goTo(`/packs/${await addPackFile(path, node)}`);
}

/** Answers with the pack's id, also where the archive had it already. */
async function addPackFile(path: string, node: RunningNode): Promise<string> {
  const token = (await readFile(node.tokenFile, 'utf8')).trim();
  const response = await fetch(new URL('/api/packs', node.url), {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/zip' },
    body: await openAsBlob(path),
  });
  const answer = (await response.json()) as { id: string } | { detail: string };
  if ('detail' in answer) throw new Error(answer.detail);
  return answer.id;
}

function tellRefusal(path: string, error: unknown): void {
  const sentence = error instanceof Error ? error.message : String(error);
  dialog.showErrorBox(`${basename(path)} was not added`, sentence);
}
