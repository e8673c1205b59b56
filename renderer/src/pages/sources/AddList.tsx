import { Button, FileButton, Group, SegmentedControl, Textarea, UnstyledButton } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { Link } from 'react-router';
import {
  LIST_MEDIA_TYPES,
  LIST_OUTCOMES,
  type ListFormat,
  MAX_LIST_BYTES,
  type SourceImport,
} from '../../../../shared/collection/source.ts';
import { sendStream } from '../../api/client.ts';
import { useReload } from '../../api/useCall.ts';
import { StateBadge } from '../../components/data/Values.tsx';
import { VirtualList } from '../../components/data/VirtualList.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { CopyButton } from '../../components/forms/buttons.tsx';
import { DialogButtons } from '../../components/forms/DialogForm.tsx';
import { useFileDrop } from '../../components/forms/FileDropField.tsx';
import { countOf, formatBytes } from '../../format.ts';
import { createKeptDraft } from '../../state/keptDraft.ts';
import classes from './sources.module.css';

/** Adds the sources of a list that is pasted, dropped or chosen, then reports the result for each entry. */
export function AddListForm({ onClose }: { onClose: () => void }) {
  const { draft, change, clear } = useListDraft();
  const [sent, setSent] = useState<ListFormat>('text');
  const reload = useReload();
  const send = useMutation({
    mutationFn: (form: ListFormat): Promise<SourceImport> =>
      sendStream('importSources', { body: draft.text, mediaType: listMediaType(form) }),
    onSuccess: ({ refused }) => {
      if (refused === 0) clear();
    },
    onSettled: () => reload('importSources'),
  });
  if (send.data) {
    const { items } = send.data;
    const fixRejected = () => {
      if (sent === 'text') change({ text: refusedLines(draft.text, items) });
      send.reset();
    };
    return <ListOutcome outcome={send.data} onFix={fixRejected} onClose={onClose} />;
  }
  return (
    <ListFields
      isSending={send.isPending}
      error={send.error}
      onSend={(form) => {
        setSent(form);
        send.mutate(form);
      }}
      onClose={onClose}
    />
  );
}

/** The rejected lines of a plain list, to be corrected. */
function refusedLines(text: string, items: SourceImport['items']): string {
  const lines = text.split(/\r?\n/);
  return items
    .filter(({ outcome }) => outcome === 'refused')
    .map(({ line }) => lines[line - 1] ?? '')
    .join('\n');
}

interface ListFieldsProps {
  isSending: boolean;
  error: unknown;
  onSend: (form: ListFormat) => void;
  onClose: () => void;
}

/** The input for a list and its format. */
function ListFields({ isSending, error, onSend, onClose }: ListFieldsProps) {
  const { draft, change } = useListDraft();
  const { text, fileName, form: chosen } = draft;
  const [unread, setUnread] = useState<unknown>();
  const form = chosen ?? detectListFormat(text, fileName);
  const isEmpty = text.trim() === '';
  const read = (file: File | null | undefined) => {
    if (!file) return;
    setUnread(undefined);
    readList(file).then((content) => change({ text: content, fileName: file.name, form: null }), setUnread);
  };
  const { ref, isOver } = useFileDrop<HTMLFormElement>(read);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!isEmpty) onSend(form);
  };
  return (
    <form
      ref={ref}
      onSubmit={submit}
      className={`${classes.listForm} stack gap-4`}
      data-over={isOver || undefined}
    >
      <Textarea
        label="List"
        description={
          <>
            Paste a list, drop a file, or{' '}
            <FileButton
              onChange={read}
              accept=".txt,.csv,.tsv,.opml,.xml,.html,.htm,text/plain,text/csv,text/xml,text/html"
            >
              {(props) => (
                <UnstyledButton {...props} className={classes.choose}>
                  choose a file
                </UnstyledButton>
              )}
            </FileButton>
            .
          </>
        }
        placeholder={'https://example.org/notices\nhttps://example.org/data.csv'}
        minRows={8}
        maxRows={16}
        spellCheck={false}
        data-autofocus
        classNames={{ input: classes.typed }}
        value={text}
        onChange={(event) => change({ text: event.currentTarget.value })}
      />
      <FormatChoice form={form} />
      {unread !== undefined && <ErrorNote error={unread} />}
      {error !== null && error !== undefined && <ErrorNote error={error} />}
      <DialogButtons submit="Watch" isPending={isSending} isDisabled={isEmpty} onCancel={onClose} />
    </form>
  );
}

/** The format, and how the list is understood in it. */
function FormatChoice({ form }: { form: ListFormat }) {
  const { draft, change } = useListDraft();
  const { text, fileName, form: chosen } = draft;
  return (
    <div className="stack items-start gap-2">
      <SegmentedControl
        size="xs"
        aria-label="List format"
        value={form}
        onChange={(value) => change({ form: value as ListFormat })}
        data={Object.entries(LIST_FORMATS).map(([value, { label }]) => ({ value, label }))}
      />
      <p className="small muted" aria-live="polite">
        {text.trim() !== '' && (
          <strong>
            {fileName && `${fileName}: `}
            {listSizeText(text, form)}
            {chosen === null &&
              `, detected as ${form === 'text' ? 'one URL per line' : LIST_FORMATS[form].label}`}
            .{' '}
          </strong>
        )}
        {LIST_FORMATS[form].description}
      </p>
    </div>
  );
}

/**
 * The text of a list file.
 * @throws Error with a message for the person.
 */
async function readList(file: File): Promise<string> {
  if (file.size > MAX_LIST_BYTES) {
    throw new Error(
      `${file.name} is ${formatBytes(file.size)}. The limit is ${formatBytes(MAX_LIST_BYTES)}. Split the list.`,
    );
  }
  const bytes = new Uint8Array(await file.arrayBuffer());
  const mark = (bytes[0] ?? 0) * 256 + (bytes[1] ?? 0);
  // Spreadsheets save “Unicode text” in UTF-16.
  const encoding = mark === 0xfffe ? 'utf-16le' : mark === 0xfeff ? 'utf-16be' : 'utf-8';
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${file.name} is not UTF-8. Save it as UTF-8 and choose it again.`);
  }
}

type Item = SourceImport['items'][number];

/** The order of the results: rejected entries first. */
const ORDER: readonly Item['outcome'][] = ['refused', 'added', 'already'];

interface ListOutcomeProps {
  outcome: SourceImport;
  /** Returns to the form with the rejected lines. */
  onFix: () => void;
  onClose: () => void;
}

/** The result of a list: counts, then one row per entry, rejected entries first. */
function ListOutcome({ outcome, onFix, onClose }: ListOutcomeProps) {
  const { items, refused, ignored_columns: ignored } = outcome;
  const numbered = items.map((item, place) => ({ ...item, place }));
  const sorted = ORDER.flatMap((kind) => numbered.filter((item) => item.outcome === kind));
  return (
    <div className={`${classes.listForm} stack gap-4`}>
      <output className="cluster stretch gap-2">
        {LIST_OUTCOMES.map((kind) => (
          <StateBadge key={kind} kind="listed" value={kind} count={outcome[kind]} look="boxed" />
        ))}
      </output>
      {items.length === 0 && <p>The list contains no URLs.</p>}
      {ignored.length > 0 && <p className="small muted">Ignored columns: {ignored.join(', ')}.</p>}
      {refused > 0 && (
        <div className="line between">
          <span className="small">The rejected lines and their reasons</span>
          <CopyButton text={refusedText(items)} what="rejected lines" />
        </div>
      )}
      {items.length > 0 && (
        // The list scrolls, so it must be reachable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        <section className={classes.items} tabIndex={0} aria-label="Results by line">
          <VirtualList
            label="Result of each entry"
            items={sorted}
            keyOf={({ place }) => String(place)}
            render={(item) => <Entry item={item} onLeave={onClose} />}
          />
        </section>
      )}
      <Group justify="flex-end" gap="sm">
        {refused > 0 && (
          <Button variant="default" onClick={onFix}>
            Fix rejected lines
          </Button>
        )}
        <Button onClick={onClose} data-autofocus>
          Done
        </Button>
      </Group>
    </div>
  );
}

function Entry({ item, onLeave }: { item: Item; onLeave: () => void }) {
  const { line, url, outcome, source, detail } = item;
  return (
    <div className={`${classes.entry} stack gap-3 baseline compact`}>
      <span className="muted text-end numeric">{line}</span>
      <StateBadge kind="listed" value={outcome} />
      <span className={`${classes.address} stack wrap-anywhere`}>
        {source ? (
          <Link to={`/sources/${source}`} onClick={onLeave}>
            {url}
          </Link>
        ) : (
          url || <em>no URL</em>
        )}
        {outcome === 'refused' && detail && <span className="small bad">{detail}</span>}
      </span>
    </div>
  );
}

function refusedText(items: readonly Item[]): string {
  return items
    .filter(({ outcome }) => outcome === 'refused')
    .map(({ line, url, detail = '' }) => `${line}\t${url}\t${detail}`)
    .join('\n');
}

/** Longer lists are kept only while the page is open: sessionStorage has little space. */
const MAX_KEPT = 500_000;

interface ListDraft {
  text: string;
  /** The name of the file that the text was read from. */
  fileName: string;
  /** The format chosen by hand, or null for the detected one. */
  form: ListFormat | null;
}

const EMPTY: ListDraft = { text: '', fileName: '', form: null };

/** The list form, until every entry is accepted. */
const useListDraft = createKeptDraft('strongroom-source-list', EMPTY, (draft) =>
  draft.text.length <= MAX_KEPT ? draft : EMPTY,
);

/** The name and description of each list format. */
const LIST_FORMATS: Record<ListFormat, { label: string; description: string }> = {
  text: { label: 'URLs', description: 'One URL per line. Lines that begin with # are comments.' },
  csv: {
    label: 'CSV',
    description:
      'A header with the column url and, optionally, name, agency, tags (separated by ; or |), every_minutes, max_object_mb and ignore_robots.',
  },
  opml: {
    label: 'OPML',
    description: 'The export format of feed readers. The titles of a feed’s groups become its tags.',
  },
  bookmarks: {
    label: 'Bookmarks',
    description: 'The HTML file that browsers export. The folders of a bookmark become its tags.',
  },
};

/** The media type of a list. */
function listMediaType(form: ListFormat): string {
  return Object.entries(LIST_MEDIA_TYPES).find(([, named]) => named === form)?.[0] ?? 'text/plain';
}

/** Detects the format from the beginning of the text or, if that is ambiguous, from the file name. */
function detectListFormat(text: string, fileName = ''): ListFormat {
  const beginning = text.replace(/^\uFEFF/, '').trimStart();
  if (/^<!DOCTYPE NETSCAPE-Bookmark/i.test(beginning) || /<dt>\s*<a\s/i.test(beginning)) return 'bookmarks';
  if (beginning.startsWith('<')) return 'opml';
  const lines = beginning.slice(0, 10_000).split(/\r?\n/, 20);
  const isHeader = (line: string) =>
    line.split(/[,;\t|]/).some((cell) => /^\s*"?\s*url\s*"?\s*$/i.test(cell)) && !line.startsWith('#');
  if (lines.some(isHeader)) return 'csv';
  if (beginning !== '') return 'text';
  return /\.[ct]sv$/i.test(fileName) ? 'csv' : /\.(opml|xml)$/i.test(fileName) ? 'opml' : 'text';
}

/** An estimate of the number of entries; the node counts exactly. */
function listSizeText(text: string, form: ListFormat): string {
  if (form === 'opml') {
    return countOf(text.match(/\b(?:xmlUrl|htmlUrl|url)\s*=/gi)?.length ?? 0, 'URL', 'URLs');
  }
  if (form === 'bookmarks') return countOf(text.match(/<a\s[^>]*href/gi)?.length ?? 0, 'bookmark');
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !/^\s*#/.test(line));
  return form === 'csv'
    ? countOf(Math.max(0, lines.length - 1), 'row')
    : countOf(lines.length, 'URL', 'URLs');
}
