import { Button } from '@mantine/core';
import { IconAlignLeft, IconDownload, IconEye, IconListDetails, IconShieldCheck } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { readObjectHead } from '../../../api/objectHead.ts';
import { useCall } from '../../../api/useCall.ts';
import { formatBytes, formatCount } from '../../../format/size.ts';
import { type ShownObject, viewPath } from '../../../format/viewPath.ts';
import { type ObjectCheck, useObjectChecks } from '../../../state/objectChecks.ts';
import { StoredPlace } from '../../data/StoredPlace.tsx';
import { ErrorNote } from '../../feedback/ErrorNote.tsx';
import { JobBar } from '../../feedback/JobBar.tsx';
import classes from './ObjectCard.module.css';
import { ObjectDigest } from './ObjectDigest.tsx';
import { ObjectRetrievals } from './ObjectRetrievals.tsx';
import { ObjectText } from './ObjectText.tsx';

/** An archived object: digest, size, type, view, download and verification. */
export function ObjectCard({ title, sha256, source, at }: ShownObject & { title: string }) {
  const { data: head, error } = useQuery({
    queryKey: ['objectHead', sha256],
    queryFn: ({ signal }) => readObjectHead(sha256, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const { data: view } = useCall('readObjectView', { params: { sha256 }, query: { source, at } });
  const [showRetrievals, setShowRetrievals] = useState(false);
  const [showText, setShowText] = useState(false);
  const { checks, check } = useObjectChecks();
  const found = checks[sha256];
  return (
    <section className={classes.card} aria-label={`${title}: object ${sha256.slice(0, 8)}`}>
      <header className={classes.head}>
        <h3>{title}</h3>
        <ObjectDigest sha256={sha256} label={`digest, ${title}`} />
        {head && (
          <span className="muted small">
            {head.bytes !== null && (
              <span title={`${formatCount(head.bytes)} bytes`}>{formatBytes(head.bytes)}</span>
            )}
            {head.contentType && `, ${head.contentType}`}
          </span>
        )}
      </header>
      {error && <ErrorNote error={error} />}
      <StoredPlace sha256={sha256} />
      <div>
        <div className={classes.actions}>
          <Button
            component={Link}
            to={viewPath({ sha256, source, at })}
            variant="default"
            size="compact-sm"
            leftSection={<IconEye size={14} aria-hidden />}
          >
            View
          </Button>
          <Button
            component="a"
            href={`/archive/${sha256}`}
            download={view?.file_name ?? `${sha256}${head?.extension ?? ''}`}
            variant="default"
            size="compact-sm"
            leftSection={<IconDownload size={14} aria-hidden />}
          >
            Download
          </Button>
          <Button
            variant="default"
            size="compact-sm"
            leftSection={<IconShieldCheck size={14} aria-hidden />}
            disabled={found?.state === 'running'}
            onClick={() => void check(sha256)}
          >
            Verify
          </Button>
          <Button
            variant="default"
            size="compact-sm"
            leftSection={<IconAlignLeft size={14} aria-hidden />}
            aria-expanded={showText}
            onClick={() => setShowText(!showText)}
          >
            Text
          </Button>
          <Button
            variant="default"
            size="compact-sm"
            leftSection={<IconListDetails size={14} aria-hidden />}
            aria-expanded={showRetrievals}
            onClick={() => setShowRetrievals(!showRetrievals)}
          >
            Retrievals
          </Button>
        </div>
        <div aria-live="polite" className={classes.found}>
          {found && <CheckResult sha256={sha256} check={found} />}
        </div>
      </div>
      {showText && <ObjectText sha256={sha256} />}
      {showRetrievals && <ObjectRetrievals sha256={sha256} />}
    </section>
  );
}

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
      <p className={classes.good}>
        Verified: {formatCount(check.bytes)} bytes were downloaded and hashed in this browser. Their SHA-256
        matches the digest above.
      </p>
    );
  }
  return (
    <div className={classes.bad} role="alert">
      <p>
        Does not match: {formatCount(check.bytes)} bytes were downloaded and hashed in this browser. Their
        SHA-256 differs from the digest. The stored object is damaged, or this node sent other bytes.
      </p>
      <p className="mono wrap-anywhere">expected {sha256}</p>
      <p className="mono wrap-anywhere">found {check.actual}</p>
    </div>
  );
}
