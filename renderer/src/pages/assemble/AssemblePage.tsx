import { Button, Group, Modal, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { IconFiles } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useState } from 'react';
import { useNavigate, useSearchParams } from 'react-router';
import type { DraftSummary } from '../../../../shared/archive/draft.ts';
import type { Pack } from '../../../../shared/archive/pack.ts';
import type { Study } from '../../../../shared/archive/study.ts';
import { callKey, useCall } from '../../api/useCall.ts';
import { TimeText } from '../../components/data/Values.tsx';
import { EmptyState, ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { OpenModal, Question } from '../../components/forms/DialogForm.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { countOf, formatBytes } from '../../format.ts';
import { canonicalSha256 } from '../../hashing/sha256.ts';
import { useIsOwner, useMayContribute, useNeedsInvitation, useSession } from '../../state/session.ts';
import { EnterInvitation } from '../sharing/Invitations.tsx';
import classes from './assemble.module.css';
import { type Draft, emptyDraft, newVersionOf, replicationOf } from './draft.ts';
import { checkDraft, isSet } from './draftRecord.ts';
import { draftSession } from './draftSession.ts';
import { changeDraft, hasContent, reuseFiles, useDraft } from './draftStore.ts';
import { FilesSection } from './files/FilesSection.tsx';
import { reusableFiles } from './files/nodeFiles.ts';
import { FromRecordButton } from './fromRecord/FromRecord.tsx';
import { FromZoteroButton } from './fromRecord/FromZotero.tsx';
import { PublishPanel } from './PublishPanel.tsx';
import {
  jumpToField,
  PackFormContext,
  type PackFormState,
  useCheckedDraft,
  useIsDraftOpen,
  useOpenDraft,
  useSetBytes,
  useShownErrors,
} from './packForm.ts';
import { publish, resumePublishing } from './publish.ts';
import {
  AboutSection,
  BasedOn,
  LicenseSection,
  MethodSection,
  OutcomeSection,
  StudyAndSubjectSection,
  TitleSection,
  VerdictSection,
} from './sections/AboutSections.tsx';
import { AuthorsSection, RelationsSection } from './sections/PeopleAndWorks.tsx';
import { ResultsSection } from './sections/ResultsSection.tsx';

/** The form in which a pack is created from files and a record, and published. */
export default function AssemblePage() {
  const mayContribute = useMayContribute();
  const isKnown = useSession((state) => state.session !== undefined);
  if (!isKnown) return <p className="muted">Loading…</p>;
  return mayContribute ? <PackForm /> : <VisitorNotice />;
}

function PackForm() {
  const draft = useDraft((state) => state.draft);
  const files = useDraft((state) => state.files);
  const isOwner = useIsOwner();
  const isDraftOpen = useIsDraftOpen();
  const publishing = useDraft(({ publication }) => publication.state);
  const isPublishing = publishing === 'running';
  const setBytes = useSetBytes();
  useOpenDraft();
  useShowPublished();
  useEffect(() => {
    if (isOwner && isDraftOpen) resumePublishing();
  }, [isOwner, isDraftOpen]);

  const { issues, fingerprint } = useCheckedDraft(draft, files, setBytes);
  const { errorOf, touch, showAll } = useShownErrors(issues);

  const tryToPublish = () => {
    const { record, issues: found } = checkDraft(draft, files, setBytes);
    showAll();
    const fingerprint = record && !isSet(files, setBytes) ? canonicalSha256(record) : undefined;
    if (record) void publish({ record, files, fingerprint });
    else if (found[0]) jumpToField(found[0].field);
  };
  const form: PackFormState = { draft, change: changeDraft, errorOf, touch };
  if (publishing === 'published') return <p className="muted">Published. Opening the pack…</p>;
  return (
    <Page
      title={draft.supersedes === null ? 'New pack' : 'New version'}
      lead="Files plus a record of the authors, the outcome and the method. Anyone can verify a published pack. It never changes."
      actions={
        <>
          <StartOver isEnabled={isDraftOpen && !isPublishing} />
          {isOwner && <FromRecordButton isEnabled={isDraftOpen && !isPublishing} />}
          {isOwner && <FromZoteroButton isEnabled={isDraftOpen && !isPublishing} />}
          {isOwner && <DraftsButton isEnabled={isDraftOpen && !isPublishing} />}
        </>
      }
    >
      <PackFormContext value={form}>
        <DraftFromPack />
        <DraftForStudy />
        <BasedOn />
        <div className={classes.columns}>
          <fieldset disabled={isPublishing} className={`${classes.form} shrink`} aria-label="Record">
            <VerdictSection />
            <FilesSection />
            <TitleSection />
            <AuthorsSection />
            <LicenseSection />
            <OutcomeSection />
            <AboutSection />
            <MethodSection />
            <ResultsSection />
            <StudyAndSubjectSection />
            <RelationsSection />
          </fieldset>
          <PublishPanel issues={issues} fingerprint={fingerprint} onPublish={tryToPublish} />
        </div>
      </PackFormContext>
    </Page>
  );
}

/**
 * Opens the pack after it was published, and reports whether the node's fingerprint matches the one computed
 * here.
 */
function useShowPublished(): void {
  const publication = useDraft((state) => state.publication);
  const navigate = useNavigate();
  const queries = useQueryClient();
  useEffect(() => {
    if (publication.state !== 'published') return;
    const { pack, fingerprint } = publication;
    notifications.show(publishedNote(pack, fingerprint));
    useDraft.setState({ publication: { state: 'idle' } });
    // A new pack appears on its original, its previous version, its study, its subject and in every list.
    void queries.invalidateQueries();
    void navigate(`/packs/${pack.id}`);
  }, [publication, navigate, queries]);
}

/** What is said of a pack that was just published. The node writes the list of a set, so only a pack is compared. */
function publishedNote({ digest, evidence: { set } }: Pack, fingerprint: string | undefined) {
  if (set)
    return {
      title: 'Published as a set',
      message: `${countOf(set.files, 'file')} in ${countOf(set.packs, 'pack')}.`,
      autoClose: 6000,
    };
  if (fingerprint === undefined)
    return { title: 'Published', message: 'The node recorded the pack.', autoClose: 6000 };
  const isSame = digest === fingerprint;
  return {
    title: isSame ? 'Published' : 'Published with a different fingerprint',
    message: isSame
      ? 'The node recorded the fingerprint that this browser computed.'
      : 'The fingerprint recorded by the node differs from the one computed in this browser. Verify the pack.',
    ...(!isSame && { color: 'red' }),
    autoClose: isSame ? (6000 as const) : (false as const),
  };
}

/** Shown to a visitor who may not publish: what is missing, and the form for an invitation if that is all. */
function VisitorNotice() {
  const needsInvitation = useNeedsInvitation();
  const isShared = useSession((state) => state.session?.sharing !== 'off');
  return (
    <Page
      title="New pack"
      lead={needsInvitation && 'You can publish packs on this node once you have entered an invitation.'}
    >
      {needsInvitation ? (
        <EnterInvitation />
      ) : (
        <EmptyState title="You cannot publish on this node">
          {isShared
            ? 'The owner shares this archive for reading. Ask the owner to open it for contributions.'
            : 'You are a visitor. The owner signs in with the one-time link that the node printed when it started.'}
        </EmptyState>
      )}
    </Page>
  );
}

/**
 * Starts a draft from the pack named in the URL. The owner's draft stays in the list of drafts. A visitor, who has only
 * one, is asked first.
 */
function DraftFromPack() {
  const [search, setSearch] = useSearchParams();
  const supersedes = search.get('supersedes');
  const id = supersedes ?? search.get('replicates');
  const isReady = useIsDraftOpen();
  const pack = useCall('readPack', { params: { id: id ?? '' } }, { enabled: id !== null });
  const draft = useDraft((state) => state.draft);
  const isLocal = useDraft(({ saving }) => saving.state === 'local');
  const [isAsking, setIsAsking] = useState(false);

  const done = useCallback(() => {
    setIsAsking(false);
    setSearch({}, { replace: true });
  }, [setSearch]);
  const start = useCallback(
    async (from: Pack) => {
      done();
      try {
        await draftSession.startNew(supersedes ? newVersionOf(from) : replicationOf(from));
      } catch {
        // The panel shows why the present draft cannot be saved; it stays open.
        return;
      }
      // Without them the draft has no files, and the section of the files offers them again.
      if (supersedes) reuseFiles(await reusableFiles(from).catch(() => []));
    },
    [supersedes, done],
  );
  const ready = id !== null && isReady ? pack.data : undefined;
  useEffect(() => {
    if (!ready) return;
    // Decided once: the started draft must not be asked about.
    // oxlint-disable-next-line react/set-state-in-effect -- the pack arrives once, and only then can it be asked.
    if (isLocal && hasContent()) setIsAsking(true);
    else void start(ready);
  }, [ready, isLocal, start]);

  if (id === null) return null;
  if (pack.error) return <ErrorNote error={pack.error} onRetry={() => void pack.refetch()} />;
  return (
    <Question
      opened={ready !== undefined && isAsking}
      title="Unfinished draft"
      answer="Replace draft"
      keep="Keep draft"
      save={{ mutate: () => ready && void start(ready) }}
      onClose={done}
    >
      {draft.title.trim() ? `“${draft.title.trim()}” has` : 'A draft has'} not been published. Starting{' '}
      {supersedes ? 'a new version' : 'a replication'} of “{ready?.title}” would replace it.
    </Question>
  );
}

/** Sets the study named in the URL in the draft. Asks what to do with a draft that has been started. */
function DraftForStudy() {
  const [search, setSearch] = useSearchParams();
  const id = search.get('study');
  const isReady = useIsDraftOpen();
  const study = useCall('readStudy', { params: { id: id ?? '' } }, { enabled: id !== null });
  const draft = useDraft((state) => state.draft);
  const hasWork = useDraft(hasContent);
  const isLocal = useDraft(({ saving }) => saving.state === 'local');
  const ready = id !== null && isReady ? study.data : undefined;

  const done = useCallback(() => setSearch({}, { replace: true }), [setSearch]);
  const startWith = useCallback(
    (next: Draft) => {
      changeDraft(next);
      done();
    },
    [done],
  );
  useEffect(() => {
    if (!ready) return;
    if (!hasWork) startWith(inStudy(emptyDraft(), ready));
    else if (draft.study === ready.id) done();
  }, [ready, hasWork, draft.study, startWith, done]);

  if (id === null) return null;
  if (study.error) return <ErrorNote error={study.error} onRetry={() => void study.refetch()} />;
  if (!ready || !hasWork || draft.study === ready.id) return null;
  const startOver = () => {
    done();
    // The panel shows why the present draft cannot be saved; it stays open then.
    draftSession.startNew(inStudy(emptyDraft(), ready)).catch(() => {});
  };
  return (
    <OpenModal onClose={done} title="Unfinished draft">
      <p>
        {draft.title.trim() ? `“${draft.title.trim()}” has` : 'A draft has'} not been published. Continue it
        for the study “{ready.title}”, or {isLocal ? 'replace it with an empty one' : 'start a new one'}?
      </p>
      <Group justify="flex-end" mt="lg" gap="sm">
        <Button variant="subtle" onClick={done}>
          Keep draft as it is
        </Button>
        <Button variant="default" onClick={startOver}>
          {isLocal ? 'Replace draft' : 'New draft'}
        </Button>
        <Button onClick={() => startWith(inStudy(draft, ready))}>Continue for this study</Button>
      </Group>
    </OpenModal>
  );
}

/** A pack of a study is usually about the study's subject. */
function inStudy(draft: Draft, study: Study): Draft {
  return { ...draft, study: study.id, node: draft.node ?? study.node };
}

/** Clears the form after a question, if there is anything in it. */
function StartOver({ isEnabled }: { isEnabled: boolean }) {
  const hasWork = useDraft(hasContent);
  const isOfSet = isSet(
    useDraft(({ files }) => files),
    useSetBytes(),
  );
  const [isAsking, ask] = useDisclosure(false);
  const [error, setError] = useState<unknown>();
  if (!hasWork) return null;
  const mutate = () => void draftSession.discard().then(ask.close, setError);
  return (
    <>
      <Button variant="default" disabled={!isEnabled} onClick={ask.open}>
        Start over
      </Button>
      <Question
        opened={isAsking}
        title="Start over?"
        answer="Start over"
        keep="Keep draft"
        save={{ mutate, error }}
        onClose={ask.close}
      >
        This removes everything you have entered and all files. Published packs are not affected.
        {isOfSet && ' If the publishing of this set has begun, its finished packs are public and stay.'}
      </Question>
    </>
  );
}

const MAX_SHOWN = 100;

/** Opens the list of the node's drafts, in which another one is continued or a new one is started. */
function DraftsButton({ isEnabled }: { isEnabled: boolean }) {
  const [isOpen, { open, close }] = useDisclosure(false);
  const queries = useQueryClient();
  const show = () => {
    void queries.invalidateQueries({ queryKey: callKey('listDrafts') });
    open();
  };
  return (
    <>
      <Button
        variant="default"
        disabled={!isEnabled}
        leftSection={<IconFiles size={17} aria-hidden />}
        onClick={show}
      >
        Drafts
      </Button>
      <Modal opened={isOpen} onClose={close} title="Drafts" size="lg">
        <DraftList onDone={close} />
      </Modal>
    </>
  );
}

function DraftList({ onDone }: { onDone: () => void }) {
  const current = useDraft(({ saved }) => saved?.id);
  const [error, setError] = useState<unknown>();
  const drafts = useCall('listDrafts', { query: { limit: MAX_SHOWN } });
  const run = (work: Promise<void>) => work.then(onDone, setError);
  const failure = error ?? drafts.error ?? undefined;
  return (
    <Stack gap="md">
      {failure !== undefined && <ErrorNote error={failure} />}
      {drafts.data?.total === 0 && <p className="muted">There are no drafts yet.</p>}
      <ul className={`${classes.list} plain stack scroll`} aria-label="Drafts">
        {drafts.data?.items.map((draft) => (
          <DraftRow
            key={draft.id}
            draft={draft}
            isCurrent={draft.id === current}
            onOpen={() => void run(draftSession.open(draft.id))}
          />
        ))}
      </ul>
      <Group justify="flex-end">
        <Button
          variant="default"
          disabled={current === undefined}
          onClick={() => void run(draftSession.startNew())}
        >
          New draft
        </Button>
      </Group>
    </Stack>
  );
}

interface DraftRowProps {
  draft: DraftSummary;
  isCurrent: boolean;
  onOpen: () => void;
}

function DraftRow({ draft: { title, changed_at, counts }, isCurrent, onOpen }: DraftRowProps) {
  const name = title.trim() || 'Untitled';
  return (
    <li className={`${classes.row} line gap-4 between wrap-anywhere`}>
      <div>
        <p style={{ fontWeight: 600 }}>{name}</p>
        <p className="muted small">
          {countOf(counts.files, 'file')}, {formatBytes(counts.bytes)}, changed <TimeText at={changed_at} />
        </p>
      </div>
      {isCurrent ? (
        <span className="muted small">Open now</span>
      ) : (
        <Button variant="default" size="xs" aria-label={`Open ${name}`} onClick={onOpen}>
          Open
        </Button>
      )}
    </li>
  );
}
