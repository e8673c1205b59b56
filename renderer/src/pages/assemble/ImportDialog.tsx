import { Button, Group, Modal } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { IconAlertTriangle, IconCircleCheck } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { BlobReader, configure, type FileEntry, TextWriter, ZipReader } from '@zip.js/zip.js/index-native.js';
import { Link } from 'react-router';
import { create } from 'zustand';
import { type Pack, type PackRecord, packRecordSchema } from '../../../../shared/archive/pack.ts';
import { MAX_PACK_BYTES, MAX_PACK_FILES, MAX_RECORD_BYTES } from '../../../../shared/limits.ts';
import { parseStrictJson } from '../../../../shared/values/canonicalJson.ts';
import { ApiProblem, call, upload } from '../../api/client.ts';
import { DigestChip } from '../../components/data/Values.tsx';
import { describeError, ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import type { PathFile } from '../../droppedFiles.ts';
import { authorsLine, countOf, formatBytes } from '../../format.ts';
import { canonicalSha256, hashStream } from '../../hashing/sha256.ts';
import { runLocalJob } from '../../state/jobs.ts';
import { readSession, useMayContribute } from '../../state/session.ts';
import classes from './assemble.module.css';
import { addToDraft, useDraft } from './draftStore.ts';

/** Shows dropped pack files: what each contains and whether it is intact. Imports them on request. */
export default function ImportDialog() {
  const { imports, importAll, close } = useImports();
  const mayContribute = useMayContribute();
  const queries = useQueryClient();
  const count = imports.filter(canImport).length;
  const isBusy = imports.some(({ state }) => state === 'importing');
  const isDone = imports.length > 0 && imports.every(({ isHeld }) => isHeld === true);
  const run = async () => {
    await importAll();
    await queries.invalidateQueries();
  };
  return (
    <Modal
      opened={imports.length > 0}
      onClose={close}
      size="lg"
      title={imports.length === 1 ? 'Import a pack' : `Import ${imports.length} packs`}
    >
      <ul className={`${classes.list} plain stack gap-3 scroll`}>
        {imports.map((each) => (
          <li key={each.pack.id}>
            <ImportRow item={each} onOpen={close} />
          </li>
        ))}
      </ul>
      {!mayContribute && <p className="muted">You are a visitor. You cannot import packs on this node.</p>}
      <Group justify="flex-end" mt="lg" gap="sm">
        <Button variant="default" onClick={close}>
          {isDone ? 'Done' : 'Cancel'}
        </Button>
        {mayContribute && !isDone && (
          <Button onClick={() => void run()} loading={isBusy} disabled={count === 0}>
            {count > 1 ? `Import ${count} packs` : 'Import'}
          </Button>
        )}
      </Group>
    </Modal>
  );
}

function ImportRow({ item, onOpen }: { item: PackImport; onOpen: () => void }) {
  const { pack, error } = item;
  const { record, fingerprint, id } = pack;
  const bytes = record.files.reduce((sum, file) => sum + file.bytes, 0);
  return (
    <div className="card stack gap-1 wrap-anywhere">
      <h3>
        {item.isHeld ? (
          <Link to={`/packs/${id}`} onClick={onOpen}>
            {record.title}
          </Link>
        ) : (
          record.title
        )}
      </h3>
      <p className="muted small">{authorsLine(record.authors)}</p>
      <p className="cluster gap-4">
        <span className="numeric">
          {countOf(record.files.length, 'file')}, {formatBytes(bytes)}
        </span>
        <DigestChip digest={fingerprint} label="fingerprint" />
      </p>
      <CheckResult item={item} />
      {error !== undefined && <ErrorNote error={error} />}
    </div>
  );
}

function CheckResult({ item: { check, isHeld, state } }: { item: PackImport }) {
  if (!check) return <output className="muted small">Verifying the files…</output>;
  if (!check.ok) {
    return (
      <p role="alert" className="line gap-2 compact strong bad">
        <IconAlertTriangle size={16} aria-hidden /> Damaged: {check.faults.join(', ')}. Ask the sender for the
        pack file again.
      </p>
    );
  }
  return (
    <output className="line gap-2 compact strong good">
      <IconCircleCheck size={16} aria-hidden />
      {state === 'imported'
        ? 'Imported'
        : isHeld
          ? 'Verified; this archive already has it'
          : 'Verified: every file matches the record'}
    </output>
  );
}

/**
 * Imports files that were dropped on the window: pack files are shown for import, all others go into the draft of a new
 * pack. Pack files inside a dropped folder are data like any other file.
 *
 * @param openForm opens the form for a new pack, if it is not open
 */
export async function importDropped(dropped: Promise<PathFile[]>, openForm: () => void): Promise<void> {
  try {
    const files = await dropped;
    const packs = await openPackFiles(files);
    useImports.getState().show([...packs.values()]);
    const others = files.filter((each) => !packs.has(each));
    if (others.length === 0) return;
    const { may_contribute } = await readSession();
    if (!may_contribute)
      return notify('You cannot publish on this node', 'Only pack files can be read here.');
    if (useDraft.getState().publication.state === 'running') {
      return notify('A pack is being published', 'Drop the files again when it is published.');
    }
    await addToDraft(others);
    openForm();
  } catch (error) {
    notify('The files were not added', describeError(error).sentence);
  }
}

async function openPackFiles(files: readonly PathFile[]): Promise<Map<PathFile, OpenPackFile>> {
  const packs = new Map<PathFile, OpenPackFile>();
  for (const each of files) {
    if (each.path.includes('/') || !mayBePackFile(each.file)) continue;
    const pack = await openPackFile(each.file);
    if (pack) packs.set(each, pack);
  }
  return packs;
}

function notify(title: string, message: string): void {
  notifications.show({ title, message, color: 'red' });
}

/** A dropped pack file. */
interface PackImport {
  pack: OpenPackFile;
  /** Undefined while its files are hashed. */
  check: PackFileCheck | undefined;
  /** Whether the archive has the pack already; undefined until the node has responded. */
  isHeld: boolean | undefined;
  state: 'ready' | 'importing' | 'imported' | 'failed';
  error: unknown;
}

interface Imports {
  imports: readonly PackImport[];
  /** Shows pack files, checks them and asks the node which it has. A pack that is shown already is not added again. */
  show: (packs: readonly OpenPackFile[]) => void;
  /** Imports those that are intact and new, one after the other. Never rejects: each outcome is in `imports`. */
  importAll: () => Promise<void>;
  close: () => void;
}

const useImports = create<Imports>()((set, get) => {
  const update = (id: string, change: Partial<PackImport>) =>
    set(({ imports }) => ({
      imports: imports.map((each) => (each.pack.id === id ? { ...each, ...change } : each)),
    }));

  const examine = async (pack: OpenPackFile) => {
    const [check, isHeld] = await Promise.all([
      checkPackFile(pack, () => {}),
      call('readPack', { params: { id: pack.id } }).then(
        () => true,
        (error: unknown) => (error instanceof ApiProblem ? false : undefined),
      ),
    ]);
    update(pack.id, { check, isHeld });
  };

  return {
    imports: [],
    show: (packs) => {
      const known = new Set(get().imports.map(({ pack }) => pack.id));
      const fresh = packs.filter(({ id }) => !known.has(id) && known.add(id));
      const added = fresh.map((pack): PackImport => {
        return { pack, check: undefined, isHeld: undefined, state: 'ready', error: undefined };
      });
      set(({ imports }) => ({ imports: [...imports, ...added] }));
      for (const pack of fresh) void examine(pack);
    },
    importAll: async () => {
      for (const { pack } of get().imports.filter(canImport)) {
        update(pack.id, { state: 'importing', error: undefined });
        try {
          await sendPackFile(pack);
          update(pack.id, { state: 'imported', isHeld: true });
        } catch (error) {
          update(pack.id, { state: 'failed', error });
        }
      }
    },
    close: () => set({ imports: [] }),
  };
});

/** Whether a pack file is intact and not in the archive yet. */
function canImport({ check, isHeld, state }: PackImport): boolean {
  return check?.ok === true && isHeld !== true && (state === 'ready' || state === 'failed');
}

function sendPackFile({ file, id, record }: OpenPackFile): Promise<Pack> {
  return runLocalJob(
    { title: `Importing “${record.title}”`, unit: 'bytes', total: file.size, href: `/packs/${id}` },
    ({ signal, onProgress }) =>
      upload('addPack', { body: file, mediaType: 'application/zip', signal, onProgress }),
  );
}

// The content security policy allows no workers from blobs.
configure({ useWebWorkers: false });

/** A pack file that was opened, but whose files are not checked yet. */
export interface OpenPackFile {
  file: File;
  record: PackRecord;
  /** The SHA-256 of the record. */
  fingerprint: string;
  id: string;
  /** The entries by the path in the record. */
  payload: ReadonlyMap<string, FileEntry>;
}

/** Whether every file in a pack file is the one that its record lists. */
export type PackFileCheck = { ok: true } | { ok: false; faults: string[] };

/** The name of the record in a pack file: at the top, or in one folder. */
const RECORD = /^([^/]+\/)?pack\.json$/;
/** Files, tag files and folders. */
const MAX_ENTRIES = 3 * MAX_PACK_FILES;
const MAX_FAULTS = 5;

/** Whether a file can be a pack file by its name and size. Only its content decides. */
export function mayBePackFile({ name, size }: Pick<File, 'name' | 'size'>): boolean {
  return /\.zip$/i.test(name) && size <= MAX_PACK_BYTES;
}

/** Opens a pack file. Returns undefined for any other file: another ZIP, or a ZIP with an invalid record. */
export async function openPackFile(file: File): Promise<OpenPackFile | undefined> {
  try {
    const entries = await readEntries(file);
    const found = entries.find(({ filename }) => RECORD.test(filename));
    if (!found || found.uncompressedSize > MAX_RECORD_BYTES) return undefined;
    const text = await found.getData(new TextWriter(), { checkSignature: true });
    const { success, data: record } = packRecordSchema.safeParse(parseStrictJson(text));
    if (!success) return undefined;
    const data = `${found.filename.slice(0, -'pack.json'.length)}data/`;
    const payload = new Map(
      entries
        .filter(({ filename }) => filename.startsWith(data))
        .map((entry) => [entry.filename.slice(data.length), entry]),
    );
    const fingerprint = canonicalSha256(record);
    return { file, record, fingerprint, id: `pk_${fingerprint.slice(0, 20)}`, payload };
  } catch {
    // Not a ZIP, or a damaged one: then it is a file like any other.
    return undefined;
  }
}

async function readEntries(file: File): Promise<FileEntry[]> {
  const found: FileEntry[] = [];
  const reader = new ZipReader(new BlobReader(file));
  for await (const entry of reader.getEntriesGenerator()) {
    if (found.length >= MAX_ENTRIES) throw new Error('The ZIP has too many entries.');
    if (!entry.directory) found.push(entry);
  }
  return found;
}

/** Hashes every file and compares it with the record. A damaged or missing file is a fault. */
export async function checkPackFile(
  { record, payload }: OpenPackFile,
  onProgress: (done: number) => void,
  signal?: AbortSignal,
): Promise<PackFileCheck> {
  const faults: string[] = [];
  let done = 0;
  for (const { path, sha256, bytes } of record.files) {
    const entry = payload.get(path);
    // A declared size that differs from the record's is a fault, so nothing larger is ever unpacked.
    const isIntact = entry?.uncompressedSize === bytes && (await hashEntry(entry, signal)) === sha256;
    if (!isIntact) faults.push(path);
    done += bytes;
    onProgress(done);
  }
  const listed = new Set(record.files.map(({ path }) => path));
  for (const path of payload.keys()) if (!listed.has(path)) faults.push(path);
  return faults.length === 0 ? { ok: true } : { ok: false, faults: faults.slice(0, MAX_FAULTS) };
}

/** Returns the digest of an entry; undefined if it cannot be read. */
async function hashEntry(entry: FileEntry, signal?: AbortSignal): Promise<string | undefined> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  try {
    const [, hashed] = await Promise.all([
      entry.getData(writable, { checkSignature: true, signal }),
      hashStream(readable, undefined, signal),
    ]);
    return hashed.sha256;
  } catch {
    signal?.throwIfAborted();
    return undefined;
  }
}
