import { Button, Checkbox, Modal, Stack, Textarea } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconLink, IconPackageImport } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { Link, useParams } from 'react-router';
import type { DriftItem } from '../../../../shared/archive/drift.ts';
import { type Pack, recordOf } from '../../../../shared/archive/pack.ts';
import {
  newStatusSchema,
  STUDY_TRANSITIONS,
  type StudyStatus as Status,
  type Study,
} from '../../../../shared/archive/study.ts';
import { OUTCOMES, VERDICTS } from '../../../../shared/archive/vocabulary.ts';
import { TERMS_VERSION } from '../../../../shared/limits.ts';
import { call, sendStream } from '../../api/client.ts';
import { useCall } from '../../api/useCall.ts';
import { Citation } from '../../components/content/Citation.tsx';
import { Comments } from '../../components/content/Comments.tsx';
import { Markdown } from '../../components/content/Markdown.tsx';
import { Facts, StateBadge, TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { DialogButtons, DialogForm, FormDialog, useItemForm } from '../../components/forms/DialogForm.tsx';
import { PackPicker } from '../../components/forms/pickers.tsx';
import { ItemPage, Page, Section } from '../../components/layout/Page.tsx';
import { authorsLine, countOf, formatCount } from '../../format.ts';
import { useMayContribute } from '../../state/session.ts';
import { DriftLine } from '../packs/PackHeader.tsx';
import classes from './StudyPage.module.css';
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
      <div className="card mb-6">
        <Facts
          layout="line"
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
        <ol className="plain stack gap-2">
          {study.status_history.map((step) => (
            <li key={step.at + step.status} className="cluster gap-4 baseline">
              <span className={classes.state}>
                <StateBadge kind="study" value={step.status} />
              </span>
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
    <span className="cluster gap-3 stretch">
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

/**
 * The name of a status change. Changing to `running` resumes an abandoned study and reopens a completed one.
 */
function transitionLabel(from: Status, to: Status): string {
  if (to === 'completed') return 'Complete';
  if (to === 'abandoned') return 'Abandon';
  return from === 'planned' ? 'Start' : from === 'completed' ? 'Reopen' : 'Resume';
}

/** The status changes that are possible from the current status. */
function StudyStatus({ study }: { study: Study }) {
  const mayContribute = useMayContribute();
  const [target, setTarget] = useState<Status>();
  if (!mayContribute) return null;
  return (
    <>
      {STUDY_TRANSITIONS[study.status].map((to) => (
        <Button key={to} variant="default" onClick={() => setTarget(to)}>
          {transitionLabel(study.status, to)}
        </Button>
      ))}
      <FormDialog
        opened={target !== undefined}
        onClose={() => setTarget(undefined)}
        title={target && `${transitionLabel(study.status, target)} study`}
      >
        {target && <StatusForm study={study} target={target} />}
      </FormDialog>
    </>
  );
}

function StatusForm({ study, target }: { study: Study; target: Status }) {
  const { form, save } = useItemForm({
    route: 'setStudyStatus',
    initialValues: { status: target, note: '' },
    validate: newStatusSchema,
    request: (values) => ({ params: { id: study.id }, body: values }),
  });
  return (
    <DialogForm form={form} save={save} submit={`${transitionLabel(study.status, target)} study`}>
      <Textarea
        label="Note (optional)"
        description="The reason. It is kept in the study’s history and in the ledger."
        maxRows={10}
        data-autofocus
        {...form.getInputProps('note')}
      />
    </DialogForm>
  );
}

/** The packs of a study whose related works changed since. Nothing is shown if no pack relates to other works. */
function StudyDrift({ study }: { study: string }) {
  const { data, error, refetch } = useCall('readStudyDrift', { params: { id: study } });
  if (!error && (!data || data.relating === 0)) return null;
  return (
    <Section title="Related works since publication">
      {error && <ErrorNote error={error} onRetry={() => void refetch()} />}
      {data?.packs.length === 0 && (
        <p className="muted">
          None of the related works that this archive watches or holds has changed.{' '}
          {countOf(data.compared, 'pack')} compared.
        </p>
      )}
      {data && data.packs.length > 0 && (
        <ul className="plain stack gap-3">
          {data.packs.map(({ id, title, items }) => (
            <li key={id}>
              <Link to={`/packs/${id}`}>{title}</Link>
              {items.map((item) => (
                <DriftLine key={keyOf(item)} item={item} />
              ))}
            </li>
          ))}
        </ul>
      )}
      {data && data.relating > data.compared && (
        <p className="small muted">
          Only the newest {formatCount(data.compared)} of {formatCount(data.relating)} packs with related
          works were compared.
        </p>
      )}
    </Section>
  );
}

function keyOf(item: DriftItem): string {
  const place = item.kind === 'source' ? item.source.id : `${item.pack}/${item.path}`;
  return `${item.relation} ${item.identifier} ${place}`;
}

interface AttachPacksProps {
  study: Study;
  opened: boolean;
  onClose: () => void;
}

/**
 * Adds published packs to a study. The study is part of a pack's fingerprinted record, so a published pack cannot be
 * changed: a new version of it is published whose record names the study.
 */
function AttachPacks({ study, opened, onClose }: AttachPacksProps) {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title="Add published packs"
      size="lg"
      closeOnClickOutside={false}
    >
      <AttachForm study={study} onClose={onClose} />
    </Modal>
  );
}

function AttachForm({ study, onClose }: Omit<AttachPacksProps, 'opened'>) {
  const [ids, setIds] = useState<readonly string[]>([]);
  const [accepts, setAccepts] = useState(false);
  const [fault, setFault] = useState<{ packs?: string; terms?: string }>({});
  const queries = useQueryClient();
  const attach = useMutation({
    mutationFn: async () => {
      for (const id of ids) {
        await publishIn(study.id, await call('readPack', { params: { id } }));
        // A second try after a failure starts with the pack that failed.
        setIds((left) => left.filter((other) => other !== id));
      }
    },
    onSuccess: onClose,
    onSettled: () => queries.invalidateQueries(),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const packs = ids.length === 0 ? 'Choose at least one pack.' : undefined;
    const terms = accepts ? undefined : 'Accept the terms.';
    setFault({ packs, terms });
    if (!packs && !terms) attach.mutate();
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack gap="md">
        <p className="muted small">
          A published pack never changes, and its study is part of its fingerprint. So this publishes a new
          version of each pack, with the same record and files, that belongs to this study. The earlier
          version stays, with its replications and comments, and links to the new one.
        </p>
        <PackPicker
          label="Pack"
          placeholder="Title, author or keyword"
          value={null}
          error={fault.packs}
          onChange={(id) => {
            if (id) setIds((before) => [...new Set([...before, id])]);
          }}
        />
        {ids.length > 0 && (
          <ChosenPacks
            ids={ids}
            study={study.id}
            onRemove={(id) => setIds((before) => before.filter((other) => other !== id))}
          />
        )}
        <Checkbox
          label={`I accept the terms of ${TERMS_VERSION}`}
          description="I have the right to publish these files under their licence. Published packs are recorded permanently and cannot be withdrawn."
          checked={accepts}
          error={fault.terms}
          onChange={(event) => setAccepts(event.currentTarget.checked)}
        />
        {attach.error && <ErrorNote error={attach.error} />}
        <DialogButtons submit="Publish new versions" isPending={attach.isPending} onCancel={onClose} />
      </Stack>
    </form>
  );
}

interface ChosenPacksProps {
  ids: readonly string[];
  study: string;
  onRemove: (id: string) => void;
}

function ChosenPacks({ ids, study, onRemove }: ChosenPacksProps) {
  return (
    <ul className="plain ruled" aria-label="Packs to add">
      {ids.map((id) => (
        <ChosenPack key={id} id={id} study={study} onRemove={() => onRemove(id)} />
      ))}
    </ul>
  );
}

function ChosenPack({ id, study, onRemove }: { id: string; study: string; onRemove: () => void }) {
  const pack = useCall('readPack', { params: { id } });
  if (!pack.data) return <li className="muted">Loading…</li>;
  const note = noteOn(pack.data, study);
  return (
    <li className="line gap-3 baseline between">
      <span>
        <span className="wrap-anywhere">{pack.data.title}</span>{' '}
        <span className="muted small">{authorsLine(pack.data.authors)}</span>
        {note && <span className="block small warn">{note}</span>}
      </span>
      <Button variant="subtle" size="compact-xs" onClick={onRemove} aria-label={`Remove ${pack.data.title}`}>
        Remove
      </Button>
    </li>
  );
}

function noteOn(pack: Pack, study: string): string | undefined {
  if (pack.study === study) return 'It already belongs to this study and is left out.';
  if (pack.evidence.superseded_by) return 'A newer version of this pack exists. Add the newer one instead.';
  return pack.study ? 'It belongs to another study. The new version will belong to this one.' : undefined;
}

/** Publishes a version of a pack that belongs to a study. The node holds its files already. */
async function publishIn(study: string, pack: Pack): Promise<void> {
  if (pack.study === study) return;
  const record = { ...recordOf(pack), terms_version: TERMS_VERSION, study, supersedes: pack.id };
  await sendStream('addPack', { body: JSON.stringify(record), mediaType: 'application/json' });
}
