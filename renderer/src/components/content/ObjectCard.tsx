import { Button } from '@mantine/core';
import { IconAlignLeft, IconDownload, IconEye, IconListDetails, IconShieldCheck } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import type { ObjectText as Text } from '../../../../shared/collection/derived.ts';
import type { ObjectMetadata } from '../../../../shared/collection/retrieval.ts';
import { ApiProblem, urlOf } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { countOf, formatBytes, formatCount, type ShownObject, viewPath } from '../../format.ts';
import {
  type ObjectCheck,
  type ObjectHead,
  readObjectHead,
  useObjectChecks,
} from '../../state/objectChecks.ts';
import { useHidden, type WithheldTarget } from '../../state/withheld.ts';
import { type Column, DataTable } from '../data/DataTable.tsx';
import { StoredPlace, TimeText } from '../data/Values.tsx';
import { ErrorNote, NotShown } from '../feedback/ErrorNote.tsx';
import { JobBar } from '../feedback/JobsTray.tsx';
import { LazyTooltip } from '../feedback/LazyTooltip.tsx';
import classes from './content.module.css';
import { Corroboration, ObjectDigest, ObserverText } from './Retrieval.tsx';
import { IfReadable, Withheld } from './Withheld.tsx';

interface ObjectCardProps extends ShownObject {
  title: string;
  /** What the owner withholds with the switch of the card; the object by default. */
  withheld?: { target: WithheldTarget; what: string };
}

/** An archived object: digest, size, type, view, download and verification. */
export function ObjectCard({ title, sha256, source, at, withheld }: ObjectCardProps) {
  const hidden = useHidden({ sha256 });
  const isReadable = hidden === null;
  const { data: head, error } = useQuery({
    queryKey: ['objectHead', sha256],
    queryFn: ({ signal }) => readObjectHead(sha256, signal),
    enabled: isReadable,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const { data: view } = useCall(
    'readObjectView',
    { params: { sha256 }, query: { source, at } },
    { enabled: isReadable },
  );
  const [showRetrievals, setShowRetrievals] = useState(false);
  const [showText, setShowText] = useState(false);
  const { checks, check } = useObjectChecks();
  const found = checks[sha256];
  return (
    <section className={`${classes.card} stack gap-3`} aria-label={`${title}: object ${sha256.slice(0, 8)}`}>
      <header className="cluster gap-3">
        <h3>{title}</h3>
        <ObjectDigest sha256={sha256} label={`digest, ${title}`} />
        {head && <SizeAndType head={head} />}
      </header>
      {error && <ErrorNote error={error} />}
      {hidden ? (
        <NotShown {...hidden} />
      ) : (
        <>
          <StoredPlace sha256={sha256} />
          <Withheld {...(withheld ?? { target: { sha256 }, what: 'this object' })} />
        </>
      )}
      <div>
        <div className="cluster stretch gap-2">
          {!hidden && (
            <>
              <ViewAndDownload
                shown={{ sha256, source, at }}
                fileName={view?.file_name ?? `${sha256}${head?.extension ?? ''}`}
              />
              <Button
                variant="default"
                size="compact-sm"
                leftSection={<IconShieldCheck size={14} aria-hidden />}
                disabled={found?.state === 'running'}
                onClick={() => void check(sha256)}
              >
                Verify
              </Button>
              <OpenButton
                label="Text"
                icon={<IconAlignLeft size={14} aria-hidden />}
                isOpen={showText}
                onOpen={setShowText}
              />
            </>
          )}
          <OpenButton
            label="Retrievals"
            icon={<IconListDetails size={14} aria-hidden />}
            isOpen={showRetrievals}
            onOpen={setShowRetrievals}
          />
        </div>
        <div aria-live="polite" className={classes.found}>
          {found && <CheckResult sha256={sha256} check={found} />}
        </div>
      </div>
      {showText && !hidden && <ObjectText sha256={sha256} />}
      {showRetrievals && <ObjectRetrievals sha256={sha256} />}
    </section>
  );
}

function SizeAndType({ head: { bytes, contentType } }: { head: ObjectHead }) {
  return (
    <span className="muted small">
      {bytes !== null && <span title={`${formatCount(bytes)} bytes`}>{formatBytes(bytes)}</span>}
      {contentType && `, ${contentType}`}
    </span>
  );
}

function ViewAndDownload({ shown, fileName }: { shown: ShownObject; fileName: string }) {
  return (
    <>
      <Button
        component={Link}
        to={viewPath(shown)}
        variant="default"
        size="compact-sm"
        leftSection={<IconEye size={14} aria-hidden />}
      >
        View
      </Button>
      <Button
        component="a"
        href={`/archive/${shown.sha256}`}
        download={fileName}
        variant="default"
        size="compact-sm"
        leftSection={<IconDownload size={14} aria-hidden />}
      >
        Download
      </Button>
    </>
  );
}

interface OpenButtonProps {
  label: string;
  icon: ReactNode;
  isOpen: boolean;
  onOpen: (isOpen: boolean) => void;
}

/** Opens and closes a part of the card. */
function OpenButton({ label, icon, isOpen, onOpen }: OpenButtonProps) {
  return (
    <Button
      variant="default"
      size="compact-sm"
      leftSection={icon}
      aria-expanded={isOpen}
      onClick={() => onOpen(!isOpen)}
    >
      {label}
    </Button>
  );
}

/** The state of hashing an object in this browser, and its result. */
function CheckResult({ sha256, check }: { sha256: string; check: ObjectCheck }) {
  if (check.state === 'failed') return <ErrorNote error={check.error} />;
  if (check.state === 'running') {
    const { done, total, cancel } = check;
    return (
      <JobBar
        title="Hashing in this browser"
        done={done}
        total={total}
        unit="bytes"
        rate={0}
        onCancel={cancel}
      />
    );
  }
  if (check.verified.ok) {
    return (
      <p className="good compact">
        Verified: {formatCount(check.bytes)} bytes were downloaded and hashed in this browser. Their SHA-256
        matches the digest above.
      </p>
    );
  }
  return (
    <div className="card card-bad compact" role="alert">
      <p>
        Does not match: {formatCount(check.bytes)} bytes were downloaded and hashed in this browser. Their
        SHA-256 differs from the digest. The stored object is damaged, or this node sent different bytes.
      </p>
      <p className="mono wrap-anywhere">expected {sha256}</p>
      <p className="mono wrap-anywhere">found {check.actual}</p>
    </div>
  );
}

/** The list is limited; the JSON metadata is complete. */
const SHOWN = 50;

const COLUMNS: readonly Column<ObjectMetadata['retrievals'][number]>[] = [
  { id: 'time', header: 'Retrieved', cell: ({ time }) => <TimeText at={time} /> },
  {
    id: 'captured',
    header: 'Captured',
    hideBelow: 'medium',
    cell: ({ original_observed_at: at }) => (at ? <TimeText at={at} /> : ''),
  },
  {
    id: 'observer',
    header: 'Observer',
    cell: ({ observer }) => <ObserverText observer={observer} />,
  },
  {
    id: 'server',
    header: 'Answered by',
    hideBelow: 'medium',
    cell: ({ connection }) => connection?.address ?? '',
  },
  {
    id: 'status',
    header: 'Status',
    align: 'end',
    hideBelow: 'narrow',
    cell: ({ status }) => status ?? '',
  },
];

/** All retrievals of an object, and the result of re-hashing it on the node. */
export function ObjectRetrievals({ sha256 }: { sha256: string }) {
  const { data, error, refetch } = useCall('readObjectMetadata', { params: { sha256 } });
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data) return <p className="muted small">Hashing the stored bytes…</p>;
  const intact = data.retrievals.every((retrieval) => retrieval.intact);
  const rows = data.retrievals.slice(0, SHOWN);
  return (
    <div className="stack gap-2">
      {!data.released && data.retrievals.length > 0 && (
        <p className={`small ${intact ? 'good' : 'bad'}`}>
          {intact
            ? 'Intact: the node re-hashed the stored bytes, and they match.'
            : 'Damaged: the node re-hashed the stored bytes, and they do not match the digest.'}
        </p>
      )}
      {data.corroborated && (
        <p className="small">
          Retrieved from the same URL by: <Corroboration observers={data.observers} />
        </p>
      )}
      <DataTable
        caption="Retrievals of this object, newest first"
        rows={rows}
        rowKey={({ url, time, observer }) => `${time} ${observer} ${url}`}
        columns={COLUMNS}
      />
      <p className="small muted">
        {data.retrievals.length > SHOWN
          ? `Newest ${SHOWN} of ${countOf(data.retrievals.length, 'retrieval')}. `
          : `${countOf(data.retrievals.length, 'retrieval')}. `}
        <a href={`/archive/${sha256}/metadata`} target="_blank" rel="noopener noreferrer">
          All metadata (JSON)
        </a>
      </p>
    </div>
  );
}

/** How much text is shown; the JSON has all of it. */
const SHOWN_CHARACTERS = 100_000;
const SHOWN_LINKS = 200;

/** The extracted text of an archived object, as plain text or, if the person may not read it, why. */
export function ObjectText({ sha256 }: { sha256: string }) {
  return (
    <IfReadable of={[{ sha256 }]}>
      <ReadableText sha256={sha256} />
    </IfReadable>
  );
}

function ReadableText({ sha256 }: { sha256: string }) {
  const { data, error, refetch } = useCall('readObjectText', { params: { sha256 } });
  if (error instanceof ApiProblem && error.document.code === 'not_derivable') {
    return <p className="muted small">{error.message}</p>;
  }
  if (error) return <ErrorNote error={error} onRetry={() => void refetch()} />;
  if (!data) {
    return <output className="muted small">Extracting text…</output>;
  }
  return (
    <div className="stack gap-2">
      {data.title && <p className="serif strong">{data.title}</p>}
      <TextBox text={data.text} />
      {data.links.length > 0 && <Links links={data.links} />}
      <p className="muted small">
        {lengthOf(data)} Created by{' '}
        <LazyTooltip label={`Version ${data.derived.version}`} maxWidth={340}>
          {(trigger) => <span {...trigger}>{data.derived.tool}</span>}
        </LazyTooltip>{' '}
        <TimeText at={data.derived.made_at} />. This text is derived; the evidence is the object.{' '}
        <a href={urlOf('readObjectText', { params: { sha256 } })} target="_blank" rel="noopener noreferrer">
          View as JSON
        </a>
      </p>
    </div>
  );
}

/** The pages of a PDF are separated by form feeds, which are shown as a line. */
function TextBox({ text }: { text: string }) {
  if (text.trim() === '') return <p className="muted small">The object contains no text.</p>;
  const pages = text.slice(0, SHOWN_CHARACTERS).split('\f');
  return (
    // Long text scrolls in its own box, which must be reachable by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <section className={`${classes.box} sheet scroll`} tabIndex={0} aria-label="Text of the object">
      {pages.map((page, index) => (
        // Pages are identified by their position.
        <div key={index}>
          {pages.length > 1 && <p className={`${classes.number} sunk muted tiny`}>Page {index + 1}</p>}
          <pre>{page}</pre>
        </div>
      ))}
    </section>
  );
}

/** The URLs that the object links to, as plain text. */
function Links({ links }: Pick<Text, 'links'>) {
  const shown = links.slice(0, SHOWN_LINKS);
  return (
    <details className={`${classes.links} small`}>
      <summary>{countOf(links.length, 'link')}</summary>
      <ul>
        {shown.map(({ text, href }, index) => (
          // A page may contain the same link twice.
          <li key={index}>
            {text && <span>{text} </span>}
            <code className="wrap-anywhere">{href}</code>
          </li>
        ))}
      </ul>
    </details>
  );
}

function lengthOf({ text, truncated, pages }: Text): string {
  const whole = [pages !== null && countOf(pages, 'page'), countOf(text.length, 'character')];
  const shown = text.length > SHOWN_CHARACTERS ? `, the first ${formatCount(SHOWN_CHARACTERS)} shown` : '';
  const cut = truncated ? ' The object is too large, so only part of its text was extracted.' : '';
  return `${whole.filter(Boolean).join(', ')}${shown}.${cut}`;
}
