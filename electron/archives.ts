import { app, dialog } from 'electron';
import { checkMove, createArchive, requireArchive } from '../server/moving/archivePlace.ts';
import { moveArchive } from '../server/moving/moveArchive.ts';
import { inBackground } from '../server/runtime/background.ts';
import type { DesktopArchives, MoveProgress } from '../shared/node/owner.ts';
import { systemClock } from '../shared/values/clock.ts';
import { errorMessage } from './openArchive.ts';
import { type Preferences, withoutRecent, withRecent } from './preferences.ts';

interface ArchivesConfig {
  /** The folder of the open archive. */
  folder: string;
  /** Why the app opens no other archive from this one, as a sentence; undefined if it does. */
  fixed: string | undefined;
  preferences: Preferences;
  /** Closes the node, once. */
  closeNode: () => Promise<void>;
}

/**
 * The archives that this app opens, one at a time. To open another, or to move the open one, the app closes it and starts
 * again. Each call returns the sentence of a refusal, or null.
 */
export class Archives {
  readonly #config: ArchivesConfig;
  readonly #quitting = new AbortController();
  /** The change that is running, from its first check on. */
  #changing: Promise<string | null> | undefined;
  #progress: MoveProgress | null = null;

  constructor(config: ArchivesConfig) {
    this.#config = config;
  }

  read(): DesktopArchives {
    const { folder, fixed, preferences } = this.#config;
    const recent = preferences.current.recent.filter((each) => each !== folder);
    return { fixed: fixed ?? null, recent };
  }

  /** How far the running move is, or null. */
  get progress(): MoveProgress | null {
    return this.#progress;
  }

  open(folder: string): Promise<string | null> {
    return this.#change(() => {
      requireArchive(folder);
      this.#restartWith(folder, this.#recent());
    });
  }

  create(folder: string): Promise<string | null> {
    return this.#change(async () =>
      this.#restartWith(await createArchive(folder, systemClock), this.#recent()),
    );
  }

  move(to: string): Promise<string | null> {
    return this.#change(async () => {
      const { folder } = this.#config;
      await checkMove(folder, to);
      await this.#move(folder, to);
    });
  }

  /** Ends a running move, which then leaves the archive where it was. Resolves when it has ended. */
  async endMove(): Promise<void> {
    this.#quitting.abort();
    await this.#changing;
  }

  async #change(work: () => Promise<void> | void): Promise<string | null> {
    if (this.#progress) return 'The archive is being moved.';
    if (this.#changing) return 'Another archive is being opened, or this one is being moved.';
    if (this.#config.fixed !== undefined) return this.#config.fixed;
    this.#changing = this.#attempt(work);
    const refusal = await this.#changing;
    // After a move has begun, only a restart goes on.
    if (!this.#progress) this.#changing = undefined;
    return refusal;
  }

  async #attempt(work: () => Promise<void> | void): Promise<string | null> {
    try {
      await work();
      return null;
    } catch (error) {
      return errorMessage(error, undefined);
    }
  }

  /** From the closing of the node on, only a restart goes on. */
  async #move(from: string, to: string): Promise<void> {
    const { signal } = this.#quitting;
    const { preferences } = this.#config;
    try {
      this.#progress = { done: 0, total: 0 };
      await this.#config.closeNode();
      const progress = (done: number, total: number) => (this.#progress = { done, total });
      const moved = await moveArchive({ from, to, clock: systemClock, signal, progress });
      const recent = withRecent(withoutRecent(preferences.current.recent, from), moved.to);
      // If this cannot be stored, the mark in the old folder says where the archive is.
      inBackground(() => preferences.change({ archive: moved.to, recent }));
      restart();
    } catch (error) {
      if (signal.aborted) return;
      dialog.showErrorBox('The archive was not moved', errorMessage(error, undefined));
      restart();
    }
  }

  /** The recent archives with the open one, which the default folder may hold. */
  #recent(): string[] {
    const { preferences, folder } = this.#config;
    return withRecent(preferences.current.recent, folder);
  }

  #restartWith(folder: string, recent: readonly string[]): void {
    this.#config.preferences.change({ archive: folder, recent: withRecent(recent, folder) });
    restart();
  }
}

/** Closes the app and starts it again, with the archive that is chosen then. */
export function restart(): void {
  // An AppImage is unmounted when it ends, so its own file is started and not the program in it.
  const { APPIMAGE } = process.env;
  app.relaunch(APPIMAGE === undefined ? {} : { execPath: APPIMAGE, args: process.argv.slice(1) });
  app.quit();
}

/** What the user chooses if the archive of the preferences cannot be opened: its index is that of the button. */
const TRY_AGAIN = 0;
const OPEN_ANOTHER = 2;

/** Asks what to do if an archive that the user chose cannot be opened. Returns the folder to open, or undefined to quit. */
export async function askForArchive(folder: string, reason: string): Promise<string | undefined> {
  const { response } = await dialog.showMessageBox({
    type: 'warning',
    title: 'Strongroom',
    message: 'The archive cannot be opened',
    detail: reason,
    buttons: ['Try Again', 'Quit', 'Open Another Archive…'],
    defaultId: TRY_AGAIN,
    cancelId: 1,
  });
  if (response === TRY_AGAIN) return folder;
  return response === OPEN_ANOTHER ? ((await chooseFolder()) ?? folder) : undefined;
}

/** Shows the system's dialog for a folder, in which one can also be created; null if it is cancelled. */
export async function chooseFolder(): Promise<string | null> {
  const { canceled, filePaths } = await dialog.showOpenDialog({
    properties: ['openDirectory', 'createDirectory', 'promptToCreate'],
  });
  return canceled ? null : (filePaths[0] ?? null);
}
