import { Drawer, Tooltip } from '@mantine/core';
import { useQueries } from '@tanstack/react-query';
import { useState } from 'react';
import type { Pack } from '../../../../shared/archive/pack.ts';
import type { SetEntry } from '../../../../shared/archive/set.ts';
import { call, urlOf } from '../../api/client.ts';
import { callKey } from '../../api/useCall.ts';
import { FilePreview } from '../../components/content/FilePreview.tsx';
import { Withheld, WithheldMark } from '../../components/content/Withheld.tsx';
import { TreeGrid, type TreeRow } from '../../components/data/FileTree.tsx';
import { DigestChip, StoredPlace } from '../../components/data/Values.tsx';
import { ErrorNote, hiddenByRefusal, NotShown } from '../../components/feedback/ErrorNote.tsx';
import { SearchField } from '../../components/forms/filters.tsx';
import { Section } from '../../components/layout/Page.tsx';
import { countOf, formatBytes, formatCount } from '../../format.ts';
import { useIsOwner } from '../../state/session.ts';
import type { Hidden } from '../../state/withheld.ts';
import { DownloadIcon, hiddenFiles } from './PackFacts.tsx';
import classes from './packs.module.css';

type SetFile = Extract<SetEntry, { kind: 'file' }>;
type SetFolder = Extract<SetEntry, { kind: 'folder' }>;

/** A set may have 100,000 files. Only what a person opens is requested, this many rows at a time. */
const PAGE = 500;
/** A filter is offered for longer lists. */
const FILTERED_FROM = 12;

/** The files of a set as a tree, with digest, preview and download. */
export function SetFiles({ pack, set }: { pack: Pack; set: NonNullable<Pack['evidence']['set']> }) {
  const isOwner = useIsOwner();
  const [q, setQ] = useState('');
  const [shown, setShown] = useState<SetFile>();
  const hidden = hiddenFiles(pack, isOwner).length;
  return (
    <Section
      title="Files"
      actions={
        <span className="muted small numeric">
          {countOf(set.files, 'file')}, {formatBytes(set.bytes)}, in {countOf(set.packs, 'pack')}
        </span>
      }
    >
      <div className="stack gap-3">
        {set.files > FILTERED_FROM && <SearchField label="Filter files" value={q} onChange={setQ} />}
        {/* A new filter starts at the top. */}
        <SetTree key={q} pack={pack.id} q={q.trim()} onShow={setShown} />
      </div>
      {hidden > 0 && (
        <p className="small muted mt-2">
          {countOf(hidden, 'object')} of this set cannot be read, so the set cannot be downloaded as one file.
          The list has the digest of each file.
        </p>
      )}
      <Drawer
        opened={shown !== undefined}
        onClose={() => setShown(undefined)}
        position="right"
        size="min(56rem, 92vw)"
        title={<span className="mono wrap-anywhere">{shown?.path}</span>}
      >
        {shown && <FileDetails pack={pack.id} file={shown} />}
      </Drawer>
    </Section>
  );
}

interface SetTreeProps {
  pack: string;
  /** Shows the files whose path contains this text; empty for the tree. */
  q: string;
  onShow: (file: SetFile) => void;
}

function SetTree({ pack, q, onShow }: SetTreeProps) {
  const { rows, folders, error, retry, setPages } = useSetRows(pack, q);
  const hidden = hiddenByRefusal(error);
  if (hidden) return <NotShown {...hidden} />;
  if (error) return <ErrorNote error={error} onRetry={retry} />;
  if (!rows) return <p className="muted">Loading…</p>;
  if (rows.length === 0) return <p className="muted">No file matches the filter.</p>;
  return (
    <TreeGrid
      label="Files"
      rows={rows}
      onToggle={(key, isOpen) => setPages(key.slice(0, -1), isOpen ? 1 : 0)}
      onKey={(event, file) => {
        if (event.key !== 'Enter') return;
        event.preventDefault();
        onShow(file);
      }}
      name={(file, name) => (
        <button
          type="button"
          tabIndex={-1}
          className="bare accent mono wrap-anywhere"
          onClick={() => onShow(file)}
        >
          {name}
        </button>
      )}
      cells={(file) => <FileCells pack={pack} file={file} />}
      folderCells={(_, key) => <FolderSummary folder={folders.get(key)} />}
    />
  );
}

/** The rows of the folders that are open, as far as they are there. */
function useSetRows(pack: string, q: string) {
  /** The pages that are shown of each folder that a person opened or closed, by its path; the top is open. */
  const [pages, setAllPages] = useState<ReadonlyMap<string, number>>(new Map());
  const setPages = (folder: string, count: number) =>
    setAllPages((before) => new Map(before).set(folder, count));
  const pagesOf = (folder: string) => pages.get(folder) ?? (folder === '' ? 1 : 0);
  const asked = [...new Set(['', ...pages.keys()])].flatMap((folder) =>
    Array.from({ length: pagesOf(folder) }, (_, page) => ({ folder, q, offset: page * PAGE, limit: PAGE })),
  );
  const answers = useQueries({
    queries: asked.map((query) => ({
      queryKey: callKey('listSetEntries', { params: { id: pack }, query }),
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        call('listSetEntries', { params: { id: pack }, query, signal }),
    })),
  });
  const failed = answers.find(({ error }) => error);
  const retry = () => void failed?.refetch();
  const folders = new Map<string, SetFolder>();
  const listed = new Map<string, { items: SetEntry[]; total: number }>();
  for (const [index, { folder }] of asked.entries()) {
    const data = answers[index]?.data;
    if (!data) continue;
    const before = listed.get(folder)?.items ?? [];
    listed.set(folder, { items: [...before, ...data.items], total: data.total });
  }
  const rowsOf = (folder: string, level: number): TreeRow<SetFile>[] => {
    const loaded = listed.get(folder);
    const moreRow = (name: string, onMore?: () => void): TreeRow<SetFile> => {
      const position = (loaded?.items.length ?? 0) + 1;
      return { kind: 'more', key: `${folder}//`, name, level, position, siblings: position, onMore };
    };
    if (!loaded) return [moreRow('Loading…')];
    const { items, total } = loaded;
    const rows = items.flatMap((entry, index): TreeRow<SetFile>[] => {
      const name = q === '' && folder !== '' ? entry.path.slice(folder.length + 1) : entry.path;
      const place = { name, level, position: index + 1, siblings: total };
      if (entry.kind === 'file') return [{ kind: 'file', key: entry.path, item: entry, ...place }];
      const key = `${entry.path}/`;
      folders.set(key, entry);
      const isOpen = pagesOf(entry.path) > 0;
      const row: TreeRow<SetFile> = { kind: 'folder', key, items: [], isOpen, ...place };
      return isOpen ? [row, ...rowsOf(entry.path, level + 1)] : [row];
    });
    if (items.length >= total) return rows;
    const isComing = items.length < Math.min(total, pagesOf(folder) * PAGE);
    const left = `Show ${formatCount(Math.min(PAGE, total - items.length))} more of ${formatCount(total)}`;
    return [
      ...rows,
      isComing ? moreRow('Loading…') : moreRow(left, () => setPages(folder, pagesOf(folder) + 1)),
    ];
  };
  return {
    rows: listed.has('') ? rowsOf('', 1) : undefined,
    folders,
    error: failed?.error,
    retry,
    setPages,
  };
}

function FolderSummary({ folder }: { folder: SetFolder | undefined }) {
  if (!folder) return null;
  return (
    <span className="muted small numeric">
      {countOf(folder.files, 'file')}, {formatBytes(folder.bytes)}
    </span>
  );
}

interface SetFileProps {
  pack: string;
  file: SetFile;
}

/** Returns why bytes of a file are not shown to visitors or, if they were given up, to anybody. */
function hiddenOf({ withheld, released }: SetFile): Hidden | undefined {
  if (released) return { kind: 'released', ...released };
  return withheld && { kind: 'withheld', ...withheld };
}

function useIsReadable(file: SetFile): boolean {
  const isOwner = useIsOwner();
  const hidden = hiddenOf(file);
  return !hidden || (isOwner && hidden.kind === 'withheld');
}

function FileCells({ pack, file }: SetFileProps) {
  const hidden = hiddenOf(file);
  return (
    <>
      {hidden && <WithheldMark {...hidden} words="row" />}
      <Tooltip label={`${formatCount(file.bytes)} bytes`}>
        <span className={`${classes.setSize} text-end small nowrap numeric`}>{formatBytes(file.bytes)}</span>
      </Tooltip>
      <span className={classes.setDigest}>
        <DigestChip digest={file.sha256} label={`digest of ${file.path}`} />
      </span>
      <DownloadLink pack={pack} file={file} />
    </>
  );
}

function addressOf({ pack, file }: SetFileProps): string {
  return urlOf('readSetFile', { params: { id: pack, path: file.path } });
}

function DownloadLink({ pack, file }: SetFileProps) {
  const isReadable = useIsReadable(file);
  return <DownloadIcon path={file.path} href={isReadable && addressOf({ pack, file })} />;
}

function FileDetails({ pack, file }: SetFileProps) {
  const isReadable = useIsReadable(file);
  const hidden = hiddenOf(file);
  return (
    <div className="stack gap-4">
      <p className="cluster gap-3">
        <span className="muted">
          {formatBytes(file.bytes)}
          {file.parts > 1 && `, in ${countOf(file.parts, 'pack')}`}
        </span>
        <DigestChip digest={file.sha256} label={`digest of ${file.path}`} />
        <DownloadLink pack={pack} file={file} />
      </p>
      {file.parts === 1 && <StoredPlace sha256={file.sha256} />}
      {file.parts > 0 && <Withheld target={{ sha256: file.sha256 }} what="this file" />}
      {isReadable ? (
        // A set does not state media types, so the name decides.
        <FilePreview
          address={addressOf({ pack, file })}
          path={file.path}
          mediaType={typeByName(file.path)}
          bytes={file.bytes}
        />
      ) : (
        hidden && <NotShown {...hidden} />
      )}
    </div>
  );
}

const IMAGES = /\.(?:(png|gif|webp|avif)|(jpe?g))$/i;

/** The media type of an image by its name. For other files, the preview goes by the name itself. */
function typeByName(path: string): string {
  const [, same, jpeg] = IMAGES.exec(path) ?? [];
  if (jpeg !== undefined) return 'image/jpeg';
  return same === undefined ? 'application/octet-stream' : `image/${same.toLowerCase()}`;
}
