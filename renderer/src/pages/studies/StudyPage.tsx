import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconLink, IconPackageImport } from '@tabler/icons-react';
import { Link, useParams } from 'react-router';
import type { Study } from '../../../../shared/archive/study.ts';
import { OUTCOMES, VERDICTS } from '../../../../shared/archive/vocabulary.ts';
import { useCall } from '../../api/useCall.ts';
import { Citation } from '../../components/content/Citation.tsx';
import { Comments } from '../../components/content/Comments.tsx';
import { Markdown } from '../../components/content/Markdown.tsx';
import { Facts } from '../../components/data/Facts.tsx';
import { StateBadge } from '../../components/data/StateBadge.tsx';
import { TimeText } from '../../components/data/TimeText.tsx';
import { ItemPage } from '../../components/layout/ItemPage.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { Section } from '../../components/layout/Section.tsx';
import { formatCount } from '../../format/size.ts';
import { useMayContribute } from '../../state/session.ts';
import { AttachPacks } from './AttachPacks.tsx';
import { StudyDrift } from './StudyDrift.tsx';
import classes from './StudyPage.module.css';
import { StudyStatus } from './StudyStatus.tsx';
import { StudyTable } from './StudyTable.tsx';

/** The page of one study: question, status and the results of its packs. */
export default function StudyPage() {
  const { id = '' } = useParams();
  const query = useCall('readStudy', { params: { id } });
  return (
    <ItemPage
      query={query}
      name="Study"
      list={{ to: '/studies', label: 'All studies' }}
      missing={
        <>
          This node does not have the study <code className="wrap-anywhere">{id}</code>.
        </>
      }
    >
      {(study) => <WholeStudy key={study.id} study={study} />}
    </ItemPage>
  );
}

function WholeStudy({ study }: { study: Study }) {
  return (
    <Page title={study.title} lead={study.question} actions={<StudyActions study={study} />}>
      <div className={classes.facts}>
        <Facts
          facts={{
            Status: <StateBadge kind="study" value={study.status} look="boxed" />,
            Packs: (
              <Link to={`/packs?study=${study.id}`} className="numeric">
                {formatCount(study.counts.packs)}
              </Link>
            ),
            Outcomes: study.counts.packs > 0 && <Counts kind="outcome" counts={study.counts.by_outcome} />,
            Replications: hasAny(study.counts.by_verdict) && (
              <Counts kind="verdict" counts={study.counts.by_verdict} />
            ),
            Subject: study.node && (
              <Link className="mono small" to={`/nodes/${study.node}`}>
                {study.node}
              </Link>
            ),
            Created: <TimeText at={study.created_at} show="exact" />,
            Ledger: (
              <Link to={`/ledger?from=${study.ledger_entry}`}>Entry {formatCount(study.ledger_entry)}</Link>
            ),
          }}
        />
      </div>
      {study.description && (
        <Section title="Description">
          <Markdown text={study.description} />
        </Section>
      )}
      <StudyTable study={study} />
      <StudyDrift study={study.id} />
      <Section title="History">
        <ol className={classes.history}>
          {study.status_history.map((step) => (
            <li key={step.at + step.status}>
              <StateBadge kind="study" value={step.status} />
              <span className="muted small">
                <TimeText at={step.at} show="exact" />
              </span>
              {step.note && <span className="wrap-anywhere">{step.note}</span>}
            </li>
          ))}
        </ol>
      </Section>
      <Citation item={study.id} />
      <Comments item={study.id} />
    </Page>
  );
}

function StudyActions({ study }: { study: Study }) {
  const mayContribute = useMayContribute();
  const [isAttaching, attaching] = useDisclosure(false);
  if (!mayContribute) return null;
  return (
    <>
      <StudyStatus study={study} />
      <Button variant="default" leftSection={<IconLink size={17} aria-hidden />} onClick={attaching.open}>
        Add published packs
      </Button>
      <Button
        component={Link}
        to={`/assemble?study=${study.id}`}
        leftSection={<IconPackageImport size={17} aria-hidden />}
      >
        New pack for this study
      </Button>
      <AttachPacks study={study} opened={isAttaching} onClose={attaching.close} />
    </>
  );
}

function hasAny(counts: Partial<Record<string, number>>): boolean {
  return Object.values(counts).some((count) => count !== undefined && count > 0);
}

type CountsProps =
  | { kind: 'outcome'; counts: Study['counts']['by_outcome'] }
  | { kind: 'verdict'; counts: Study['counts']['by_verdict'] };

function Counts(props: CountsProps) {
  return (
    <span className={classes.counts}>
      {props.kind === 'outcome'
        ? OUTCOMES.filter((outcome) => props.counts[outcome] > 0).map((outcome) => (
            <StateBadge key={outcome} kind="outcome" value={outcome} count={props.counts[outcome]} />
          ))
        : VERDICTS.filter((verdict) => props.counts[verdict] > 0).map((verdict) => (
            <StateBadge key={verdict} kind="verdict" value={verdict} count={props.counts[verdict]} />
          ))}
    </span>
  );
}
