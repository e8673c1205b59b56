import { sha256 } from '@noble/hashes/sha2.js';
import { hexOf, utf8 } from '../../../../shared/proof/crypto/bytes.ts';
import { noteCrypto } from '../../../../shared/proof/crypto/noteCrypto.ts';
import {
  type FileList,
  isOlder,
  LIST,
  type ListedFile,
  openList,
  parseLines,
  partOf,
  placeInList,
} from '../../../../shared/proof/ledger/fileList.ts';
import { ifValid, openCheckpoint } from '../../../../shared/proof/ledger/signedNote.ts';
import { CHECKPOINT } from '../../copyPaths.ts';

/** Reads a file of the copy; undefined if there is none. */
export type ReadFile = (path: string) => Promise<Response | undefined>;

type OnFault = (path: string, fault: 'changed' | 'missing') => void;

/** The files of a copy that the archive's key signed. Nothing else is given out. */
export class SignedFiles {
  readonly #read: ReadFile;
  readonly #list: FileList;

  private constructor(read: ReadFile, list: FileList) {
    this.#read = read;
    this.#list = list;
  }

  /** Verifies the list by the key, and that it is not older than the checkpoint. @throws Error */
  static async open(read: ReadFile, key: string, onFault: OnFault = () => {}): Promise<SignedFiles> {
    const textOf = async (path: string): Promise<string> => {
      const answer = await read(path);
      if (answer) return answer.text();
      onFault(path, 'missing');
      throw new Error(`${path} is missing, so the files of this copy cannot be verified.`);
    };
    const note = await textOf(CHECKPOINT);
    const checkpoint = ifValid(() => openCheckpoint(note, key, noteCrypto));
    if (!checkpoint) onFault(CHECKPOINT, 'changed');
    const listNote = await textOf(LIST);
    const list = ifValid(() => openList(listNote, key, noteCrypto));
    if (!list || (checkpoint && isOlder(list, checkpoint))) {
      onFault(LIST, 'changed');
      throw new Error('The list of the files was altered, or is older than the checkpoint.');
    }
    return new SignedFiles(read, list);
  }

  /** The number of files that the list names. */
  get count(): number {
    return this.#list.files;
  }

  /** Yields all files that the list names. Parts of it that are changed or missing are faults. */
  async *all(onFault: OnFault): AsyncGenerator<ListedFile> {
    for (const part of this.#list.parts) {
      const files = await this.#filesOf(part, onFault);
      if (files) yield* files;
    }
  }

  /** Returns a text that the key signed; undefined if the list does not name it, or it is not as the list says. */
  async text(path: string): Promise<string | undefined> {
    const { parts } = this.#list;
    const part = parts[partOf(placeInList(path, noteCrypto), parts.length)];
    const listed = part && (await this.#filesOf(part))?.find((file) => file.path === path);
    const text = listed && (await (await this.#read(path))?.text());
    return text !== undefined && digestOfText(text) === listed?.sha256 ? text : undefined;
  }

  async #filesOf(part: ListedFile, onFault: OnFault = () => {}): Promise<ListedFile[] | undefined> {
    const text = await (await this.#read(part.path))?.text();
    if (text !== undefined && digestOfText(text) === part.sha256) return parseLines(text);
    onFault(part.path, text === undefined ? 'missing' : 'changed');
    return undefined;
  }
}

function digestOfText(text: string): string {
  return hexOf(sha256(utf8(text)));
}
