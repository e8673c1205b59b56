import { Button, SegmentedControl } from '@mantine/core';
import { IconCheck, IconCopy, IconDownload } from '@tabler/icons-react';
import { useState } from 'react';
import { Link } from 'react-router';
import type { CitationFormat } from '../../../../shared/archive/citation.ts';
import { urlOf } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { useIsOwner } from '../../state/session.ts';
import { ErrorNote } from '../feedback/ErrorNote.tsx';
import { useCopied } from '../forms/buttons.tsx';
import { Section } from '../layout/Page.tsx';
import classes from './Citation.module.css';

const FORMS: { value: CitationFormat; label: string }[] = [
  { value: 'apa', label: 'APA' },
  { value: 'bibtex', label: 'BibTeX' },
  { value: 'ris', label: 'RIS' },
  { value: 'csl-json', label: 'CSL JSON' },
  { value: 'datacite', label: 'DataCite' },
];

/** The citation of a pack or a study in every format, to copy or to save. */
export function Citation({ item }: { item: string }) {
  const [form, setForm] = useState<CitationFormat>('apa');
  const params = { id: item };
  const citation = useCall('readCitation', { params });
  const datacite = useCall(
    'readCitation',
    { params, query: { format: 'datacite' } },
    { enabled: form === 'datacite' },
  );
  const answer = form === 'datacite' ? datacite : citation;
  const { label = '' } = FORMS.find(({ value }) => value === form) ?? {};
  const text = textOf(form, citation.data, datacite.data);
  return (
    <Section
      title="Cite"
      actions={
        <SegmentedControl
          size="xs"
          aria-label="Citation format"
          value={form}
          onChange={(value) => setForm(value as CitationFormat)}
          data={FORMS}
        />
      }
    >
      {answer.error && <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />}
      {citation.data && citation.data.csl.URL === undefined && (
        <NoAddress isPack={citation.data.digest !== null} />
      )}
      {text !== undefined && (
        <div className="stack gap-2">
          <pre
            className={
              form === 'apa'
                ? `${classes.reference} keep-lines wrap-anywhere sunk`
                : `${classes.code} keep-lines wrap-anywhere sunk mono small`
            }
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
              href={urlOf('readCitation', { params, query: { format: form } })}
              download
              leftSection={<IconDownload size={14} aria-hidden />}
            >
              Save as file
            </Button>
          </div>
        </div>
      )}
    </Section>
  );
}

/** Says why the citation has no URL. */
function NoAddress({ isPack }: { isPack: boolean }) {
  const isOwner = useIsOwner();
  return (
    <p className="mb-3 muted small">
      This node has no public address, so the citation has no URL
      {isPack ? ': the fingerprint identifies the pack. ' : '. '}
      {isOwner && (
        <>
          You can set one in <Link to="/settings">Settings</Link>.
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

type All = ReturnType<typeof useCall<'readCitation'>>['data'];

function textOf(form: CitationFormat, all: All, datacite: unknown): string | undefined {
  if (form === 'datacite') return datacite === undefined ? undefined : JSON.stringify(datacite, null, 2);
  if (all === undefined) return undefined;
  return form === 'csl-json' ? JSON.stringify(all.csl, null, 2) : all[form];
}
