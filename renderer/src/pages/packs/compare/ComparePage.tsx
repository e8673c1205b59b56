import { Button } from '@mantine/core';
import { IconArrowsExchange } from '@tabler/icons-react';
import { Link, useParams } from 'react-router';
import type { ComparedPack, PackComparison } from '../../../../../shared/archive/packComparison.ts';
import { useCall } from '../../../api/useCall.ts';
import { DigestChip } from '../../../components/data/DigestChip.tsx';
import { TimeText } from '../../../components/data/TimeText.tsx';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import { Page } from '../../../components/layout/Page.tsx';
import { Section } from '../../../components/layout/Section.tsx';
import { countOf } from '../../../format/size.ts';
import { ComparedFiles } from './ComparedFiles.tsx';
import { ComparedRecord } from './ComparedRecord.tsx';
import classes from './ComparePage.module.css';

/** The differences between two packs, usually two versions of one. */
export default function ComparePage() {
  const { id = '', other = '' } = useParams();
  const compared = useCall('comparePacks', { params: { id }, query: { with: other } });
  return (
    <Page
      title="Compare versions"
      lead={compared.data && summaryOf(compared.data)}
      actions={
        <Button
          component={Link}
          to={`/packs/${other}/compare/${id}`}
          variant="default"
          leftSection={<IconArrowsExchange size={17} aria-hidden />}
        >
          Swap
        </Button>
      }
    >
      {compared.error && <ErrorNote error={compared.error} onRetry={() => void compared.refetch()} />}
      {!compared.data && !compared.error && <p className="muted">Comparing…</p>}
      {compared.data && (
        <>
          <div className={classes.sides}>
            <Side label="Before" pack={compared.data.from} />
            <Side label="After" pack={compared.data.to} />
          </div>
          <Section title="Record">
            <ComparedRecord fields={compared.data.record} />
          </Section>
          <Section title="Files">
            <ComparedFiles comparison={compared.data} />
          </Section>
        </>
      )}
    </Page>
  );
}

function Side({ label, pack }: { label: string; pack: ComparedPack }) {
  return (
    <div className={classes.side}>
      <p className="muted small">{label}</p>
      <p className={classes.title}>
        <Link to={`/packs/${pack.id}`}>{pack.title}</Link>
      </p>
      <p className={classes.facts}>
        <strong>Version {pack.version}</strong>
        <span className="muted small">
          received <TimeText at={pack.received_at} />
        </span>
        <DigestChip digest={pack.digest} label="fingerprint" />
      </p>
    </div>
  );
}

function summaryOf({ record, counts }: PackComparison): string {
  const { added, changed, removed } = counts;
  const fields =
    record.length === 0 ? 'The record is the same' : `${countOf(record.length, 'field')} changed`;
  const files =
    added + changed + removed === 0
      ? 'all files are the same'
      : `files: ${added} added, ${changed} changed, ${removed} removed`;
  return `${fields}; ${files}.`;
}
