import { openAsBlob } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { dialog } from 'electron';
import type { RunningNode } from '../../server/node.ts';
import type { DesktopWindows } from '../windows.ts';

/** Adds an opened pack file to the archive after confirmation, and shows the pack. */
export async function openPackFile(path: string, node: RunningNode, windows: DesktopWindows): Promise<void> {
  windows.show();
  await confirmAndAdd(path, node, windows).catch((error: unknown) => showFailure(path, error));
}

async function confirmAndAdd(path: string, node: RunningNode, windows: DesktopWindows): Promise<void> {
  const { response } = await dialog.showMessageBox({
    type: 'question',
    message: `Add the pack in ${basename(path)} to this archive?`,
    detail: 'All files in it are checked first. A pack cannot be removed from the archive.',
    buttons: ['Add to the archive', 'Cancel'],
    defaultId: 0,
    cancelId: 1,
  });
  if (response === 0) windows.goTo(`/packs/${await addPackFile(path, node)}`);
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
