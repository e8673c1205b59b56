import { Button, type ButtonProps, Modal, SegmentedControl } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconCheck, IconCopy, IconDownload, IconQuote } from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'react-router';
import type { CitationFormat, Citation as Cited, WebFormat } from '../../../../shared/archive/citation.ts';
import type { ViewQuery } from '../../../../shared/collection/view.ts';
import { urlOf } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { useIsOwner } from '../../state/session.ts';
import { ErrorNote } from '../feedback/ErrorNote.tsx';
import { useCopied } from '../forms/buttons.tsx';
import { Section } from '../layout/Page.tsx';
import classes from './content.module.css';

type Form = CitationFormat | WebFormat;

const FORMS: { value: CitationFormat; label: string }[] = [
  { value: 'apa', label: 'APA' },
  { value: 'bibtex', label: 'BibTeX' },
  { value: 'ris', label: 'RIS' },
  { value: 'csl-json', label: 'CSL JSON' },
  { value: 'datacite', label: 'DataCite' },
];

/** The forms that only a version of something on the web has. */
const WEB_FORMS: { value: WebFormat; label: string; meaning: string }[] = [
  {
    value: 'pwid',
    label: 'PWID',
    meaning: 'A name for the archived version: which archive has it, of when it is, and its address.',
  },
  {
    value: 'robust_link',
    label: 'Robust Link',
    meaning: 'HTML of a link that also leads to the archived version, for when the page has changed or gone.',
  },
];

interface CitedItem {
  /** The id of the item; of an object its digest. */
  item: string;
  /** Of an object: as which of its retrievals. */
  retrieval?: ViewQuery;
}

/** The citation of a pack or a study. */
export function Citation({ item }: CitedItem) {
  const citation = useCitation({ item });
  return (
    <Section title="Cite" actions={<FormChoice {...citation} />}>
      <CitationText {...citation} />
    </Section>
  );
}

interface CiteButtonProps extends CitedItem, Pick<ButtonProps, 'size' | 'variant'> {}

/** Opens a dialog with the citation of an item. */
export function CiteButton({ item, retrieval, size = 'sm', variant = 'default' }: CiteButtonProps) {
  const [isOpen, dialog] = useDisclosure(false);
  return (
    <>
      <Button
        size={size}
        variant={variant}
        leftSection={variant === 'default' && <IconQuote size={size === 'sm' ? 16 : 14} aria-hidden />}
        onClick={dialog.open}
      >
        Cite
      </Button>
      <Modal opened={isOpen} onClose={dialog.close} title="Cite" size="xl">
        <CitationForms item={item} {...(retrieval && { retrieval })} />
      </Modal>
    </>
  );
}

function CitationForms(cited: CitedItem) {
  const citation = useCitation(cited);
  return (
    <div className="stack gap-3">
      <FormChoice {...citation} />
      <CitationText {...citation} />
    </div>
  );
}

/** The citation of an item, and the form in which it is shown. */
function useCitation({ item, retrieval = {} }: CitedItem) {
  const [form, setForm] = useState<Form>('apa');
  const params = { id: item };
  const citation = useCall('readCitation', { params, query: retrieval });
  const datacite = useCall(
    'readCitation',
    { params, query: { ...retrieval, format: 'datacite' } },
    { enabled: form === 'datacite' },
  );
  return {
    form,
    setForm,
    all: citation.data,
    text: textOf(form, citation.data, datacite.data),
    answer: form === 'datacite' ? datacite : citation,
    file: urlOf('readCitation', { params, query: { ...retrieval, format: form } }),
  };
}

type ShownCitation = ReturnType<typeof useCitation>;

function FormChoice({ form, setForm, all }: ShownCitation) {
  return (
    <SegmentedControl
      size="xs"
      className={classes.forms}
      withItemsBorders={false}
      aria-label="Citation format"
      value={form}
      onChange={(value) => setForm(value as Form)}
      data={all?.pwid === undefined ? FORMS : [...FORMS, ...WEB_FORMS]}
    />
  );
}

/** The citation in one form, to copy or to save. */
function CitationText({ form, all, text, answer, file }: ShownCitation) {
  const web = WEB_FORMS.find(({ value }) => value === form);
  const { label = '' } = web ?? FORMS.find(({ value }) => value === form) ?? {};
  return (
    <div className="stack gap-3">
      {answer.error && <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />}
      {all && !hasUrl(all) && <NoAddress citation={all} />}
      {web && <p className="muted small">{web.meaning}</p>}
      {text !== undefined && (
        <div className="stack gap-2">
          <pre
            className={`${classes.code} keep-lines wrap-anywhere sunk ${form === 'apa' ? classes.reference : 'mono small'}`}
            aria-label={label}
          >
            {text}
          </pre>
          <div className="line gap-2">
            <CopyText text={text} label={label} />
            <Button
              component="a"
              size="compact-xs"
              variant="subtle"
              color="gray"
              href={file}
              download
              leftSection={<IconDownload size={14} aria-hidden />}
            >
              Save as file
            </Button>
          </div>
        </div>
      )}
    </div>
  );
}

/** Whether the citation has a DOI, or a URL of this node. */
function hasUrl({ csl }: Cited): boolean {
  const { type, DOI, URL: address, archive_location = '' } = csl;
  if (DOI !== undefined) return true;
  return type === 'webpage' ? archive_location.startsWith('http') : address !== undefined;
}

/** Says why the citation has no URL of this node, and what it has instead. */
function NoAddress({ citation: { csl, digest } }: { citation: Cited }) {
  const isOwner = useIsOwner();
  const isPack = csl.type === 'dataset';
  const instead = `: the ${isPack ? 'fingerprint identifies the pack' : 'digest identifies the archived version'}. `;
  return (
    <p className="muted small">
      This node has no public address, so the citation has no URL
      {csl.type === 'webpage' && ' of this archive'}
      {digest === null ? '. ' : instead}
      {isOwner && (
        <>
          You can set one in <Link to="/settings#network">Settings</Link>.
        </>
      )}
    </p>
  );
}

function CopyText({ text, label }: { text: string; label: string }) {
  const { copied, copy } = useCopied();
  return (
    <Button
      size="compact-xs"
      variant="subtle"
      color="gray"
      aria-label={copied ? 'Copied' : `Copy as ${label}`}
      leftSection={copied ? <IconCheck size={14} aria-hidden /> : <IconCopy size={14} aria-hidden />}
      onClick={() => copy(text)}
    >
      {copied ? 'Copied' : 'Copy'}
    </Button>
  );
}

function textOf(form: Form, all: Cited | undefined, datacite: unknown): string | undefined {
  if (form === 'datacite') return datacite === undefined ? undefined : JSON.stringify(datacite, null, 2);
  if (all === undefined) return undefined;
  return form === 'csl-json' ? JSON.stringify(all.csl, null, 2) : all[form];
}
