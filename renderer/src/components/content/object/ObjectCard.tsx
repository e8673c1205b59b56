import { Button } from '@mantine/core';
import { IconAlignLeft, IconDownload, IconEye, IconListDetails, IconShieldCheck } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import { type ObjectHead, readObjectHead } from '../../../api/objectHead.ts';
import { useCall } from '../../../api/useCall.ts';
import { formatBytes, formatCount } from '../../../format/size.ts';
import { type ShownObject, viewPath } from '../../../format/viewPath.ts';
import { useObjectChecks } from '../../../state/objectChecks.ts';
import { StoredPlace } from '../../data/StoredPlace.tsx';
import { ErrorNote } from '../../feedback/ErrorNote.tsx';
import { CheckResult } from './CheckResult.tsx';
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
        {head && <SizeAndType head={head} />}
      </header>
      {error && <ErrorNote error={error} />}
      <StoredPlace sha256={sha256} />
      <div>
        <div className={classes.actions}>
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
      {showText && <ObjectText sha256={sha256} />}
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
