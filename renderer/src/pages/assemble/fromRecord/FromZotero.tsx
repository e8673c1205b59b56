import { Button, Group, Modal, Radio, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconBookmarks } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { type CitationEntry, MAX_CITATION_FILE_BYTES } from '../../../../../shared/archive/recordImport.ts';
import { sendStream } from '../../../api/client.ts';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { FileDropField } from '../../../components/forms/FileDropField.tsx';
import { countOf, formatBytes } from '../../../format.ts';
import classes from '../assemble.module.css';
import { draftSession } from '../draftSession.ts';

/** The media types of the files by their endings. */
const TYPES: Readonly<Record<string, string>> = {
  ris: 'application/x-research-info-systems',
  bib: 'application/x-bibtex',
  bibtex: 'application/x-bibtex',
  json: 'application/vnd.citationstyles.csl+json',
  rdf: 'application/rdf+xml',
  xml: 'application/rdf+xml',
};
/** A library has thousands of entries; the search finds the others. */
const MAX_SHOWN = 100;

/** Fills the record of the draft from an entry of a reference manager. */
export function FromZoteroButton({ isEnabled }: { isEnabled: boolean }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button
        variant="default"
        disabled={!isEnabled}
        leftSection={<IconBookmarks size={17} aria-hidden />}
        onClick={open}
      >
        From Zotero
      </Button>
      <Modal opened={isOpen} onClose={close} title="From Zotero" size="lg">
        <ChooseEntry onClose={close} />
      </Modal>
    </>
  );
}

interface Chosen {
  file: File;
  mediaType: string;
  entries: readonly CitationEntry[];
  warnings: readonly string[];
}

function ChooseEntry({ onClose }: { onClose: () => void }) {
  const [file, setFile] = useState<File | null>(null);
  const [entry, setEntry] = useState<number>();
  const [search, setSearch] = useState('');
  const read = useMutation({
    mutationFn: readEntries,
    onSuccess: ({ entries }) => setEntry(entries.length === 1 ? entries[0]?.entry : undefined),
  });
  const fill = useMutation({
    mutationFn: async ({ chosen, number }: { chosen: Chosen; number: number }) => {
      const { id } = await draftSession.flush();
      await sendStream('fillDraftRecord', {
        params: { id },
        query: { entry: String(number) },
        body: chosen.file,
        mediaType: chosen.mediaType,
      });
      await draftSession.open(id);
    },
    onSuccess: onClose,
  });
  const choose = (next: File) => {
    setFile(next);
    setEntry(undefined);
    setSearch('');
    fill.reset();
    read.mutate(next);
  };
  const chosen = read.data;
  return (
    <div className="stack gap-4">
      <FileDropField
        label="File with citations"
        file={file}
        endings=".ris, .bib, .json or .rdf"
        accept=".ris,.bib,.bibtex,.json,.rdf,.xml"
        error={null}
        onFile={choose}
      >
        <p className="muted small">
          Zotero: select an item, “Export Item…”, and choose RIS, BibTeX, CSL JSON or Zotero RDF.
        </p>
      </FileDropField>
      {read.error && <ErrorNote error={read.error} />}
      {chosen?.warnings.map((warning) => (
        <p key={warning} className="small">
          {warning}
        </p>
      ))}
      {chosen && (
        <Entries
          entries={chosen.entries}
          entry={entry}
          onEntry={setEntry}
          search={search}
          onSearch={setSearch}
        />
      )}
      {fill.error && <ErrorNote error={fill.error} />}
      <Group justify="flex-end" gap="sm">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button
          loading={read.isPending || fill.isPending}
          disabled={!chosen || entry === undefined}
          onClick={() => chosen && entry !== undefined && fill.mutate({ chosen, number: entry })}
        >
          Fill the record
        </Button>
      </Group>
    </div>
  );
}

async function readEntries(file: File): Promise<Chosen> {
  const ending = /\.([^.]+)$/.exec(file.name)?.[1]?.toLowerCase() ?? '';
  const mediaType = TYPES[ending];
  if (mediaType === undefined) throw new Error('Choose a file that ends with .ris, .bib, .json or .rdf.');
  if (file.size > MAX_CITATION_FILE_BYTES)
    throw new Error(`A file of citations can have at most ${formatBytes(MAX_CITATION_FILE_BYTES)}.`);
  return { file, mediaType, ...(await sendStream('listCitationEntries', { body: file, mediaType })) };
}

interface EntriesProps {
  entries: readonly CitationEntry[];
  entry: number | undefined;
  onEntry: (entry: number) => void;
  search: string;
  onSearch: (search: string) => void;
}

/** The entries of the file, to choose one. */
function Entries({ entries, entry, onEntry, search, onSearch }: EntriesProps) {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = entries.filter((each) => {
    const text = `${each.title} ${each.authors} ${each.year ?? ''} ${each.doi ?? ''}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return (
    <>
      {entries.length > 10 && (
        <TextInput
          label="Search the entries"
          value={search}
          onChange={({ currentTarget }) => onSearch(currentTarget.value)}
        />
      )}
      <Radio.Group
        label={
          entries.length === 1 ? 'Entry' : `Choose one of ${countOf(entries.length, 'entry', 'entries')}`
        }
        value={entry === undefined ? null : String(entry)}
        onChange={(value) => onEntry(Number(value))}
      >
        <div className={`${classes.entries} stack gap-3 scroll`}>
          {found.slice(0, MAX_SHOWN).map(({ entry: number, title, authors, year, doi }) => (
            <Radio
              key={number}
              value={String(number)}
              label={title || 'Untitled'}
              description={[authors, year, doi].filter(Boolean).join(' · ')}
            />
          ))}
        </div>
      </Radio.Group>
      {found.length > MAX_SHOWN && (
        <p className="muted small">
          {countOf(found.length - MAX_SHOWN, 'more entry', 'more entries')}: search for it.
        </p>
      )}
    </>
  );
}
