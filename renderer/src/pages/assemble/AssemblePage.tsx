import { Button, Group, Modal } from '@mantine/core';
import { useDebouncedValue, useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { useNavigate } from 'react-router';
import { ApiProblem } from '../../api/client.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { canonicalSha256 } from '../../hashing/sha256.ts';
import { useIsOwner, useMayContribute, useSession } from '../../state/session.ts';
import classes from './AssemblePage.module.css';
import { DraftForStudy } from './DraftForStudy.tsx';
import { DraftFromPack } from './DraftFromPack.tsx';
import { isTouched, useDraft } from './draft.ts';
import { checkDraft, type Issue, issueAt } from './draftRecord.ts';
import { useDraftFiles } from './files/draftFiles.ts';
import { FilesSection } from './files/FilesSection.tsx';
import { jumpToField, PackFormContext, type PackFormState } from './formContext.ts';
import { PublishPanel } from './PublishPanel.tsx';
import { usePublication } from './publication.ts';
import { DraftsButton } from './saving/DraftsButton.tsx';
import { useDraftSaving } from './saving/draftSaving.ts';
import { AboutSection } from './sections/AboutSection.tsx';
import { AuthorsSection } from './sections/AuthorsSection.tsx';
import { BasedOn } from './sections/BasedOn.tsx';
import { MethodSection } from './sections/MethodSection.tsx';
import { LicenseSection, OutcomeSection } from './sections/OutcomeSection.tsx';
import { RelationsSection } from './sections/RelationsSection.tsx';
import { ResultsSection } from './sections/ResultsSection.tsx';
import { StudyAndSubjectSection } from './sections/StudyAndSubjectSection.tsx';
import { TitleSection } from './sections/TitleSection.tsx';
import { VerdictSection } from './sections/VerdictSection.tsx';
import { VisitorNotice } from './VisitorNotice.tsx';

const SETTLED_MS = 200;

/** The form in which a pack is created from files and a record, and published. */
export default function AssemblePage() {
  const mayContribute = useMayContribute();
  const isKnown = useSession((state) => state.session !== undefined);
  if (!isKnown) return <p className="muted">Loading…</p>;
  return mayContribute ? <PackForm /> : <VisitorNotice />;
}

function PackForm() {
  const { draft, change } = useDraft();
  const { files, restore } = useDraftFiles();
  const isOwner = useIsOwner();
  const startSaving = useDraftSaving((state) => state.start);
  const { publication, publish } = usePublication();
  const isPublishing = publication.state === 'running';
  useEffect(() => void (isOwner ? startSaving() : restore()), [isOwner, startSaving, restore]);
  useShowPublished();

  const [settled] = useDebouncedValue(
    useMemo(() => ({ draft, files }), [draft, files]),
    SETTLED_MS,
  );
  const checked = useMemo(() => checkDraft(settled.draft, settled.files), [settled]);
  const { record } = checked;
  const fingerprint = useMemo(() => record && canonicalSha256(record), [record]);
  const refusals = useRefusals();
  const issues = [...checked.issues, ...refusals.filter(isNew(checked.issues))];
  const { errorOf, touch, showAll } = useShownErrors(issues);

  const tryToPublish = () => {
    const now = checkDraft(draft, files);
    showAll();
    if (now.record) void publish(now.record, files, canonicalSha256(now.record));
    else if (now.issues[0]) jumpToField(now.issues[0].field);
  };
  const form: PackFormState = { draft, change, errorOf, touch };
  if (publication.state === 'published') return <p className="muted">Published. Opening the pack…</p>;
  return (
    <Page
      title={draft.supersedes === null ? 'New pack' : 'New version'}
      lead="Files plus a record of the authors, the outcome and the method. Anyone can verify a published pack. It never changes."
      actions={
        <>
          <StartOver isEnabled={!isPublishing} />
          {isOwner && <DraftsButton isEnabled={!isPublishing} />}
        </>
      }
    >
      <PackFormContext value={form}>
        <DraftFromPack />
        <DraftForStudy />
        <BasedOn />
        <div className={classes.columns}>
          <fieldset disabled={isPublishing} className={classes.form} aria-label="Record">
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

/** The node's field errors for the draft that it refused. They are cleared when the draft changes. */
function useRefusals(): Issue[] {
  const draft = useDraft((state) => state.draft);
  const files = useDraftFiles((state) => state.files);
  const publication = usePublication((state) => state.publication);
  if (publication.state !== 'failed' || publication.draft !== draft || publication.files !== files) return [];
  if (!(publication.error instanceof ApiProblem)) return [];
  return (publication.error.document.errors ?? []).flatMap((fault) => issueAt(fault, draft, files));
}

function isNew(known: readonly Issue[]): (issue: Issue) => boolean {
  return (issue) => !known.some(({ field, message }) => field === issue.field && message === issue.message);
}

/**
 * Shows a field's error after the field was left or publishing was tried, not while someone is still typing.
 */
function useShownErrors(issues: readonly Issue[]) {
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const [isAll, setIsAll] = useState(false);
  // Waits until validation has settled, so that an outdated error does not flash up and move what is about to
  // be clicked.
  const touch = useCallback((field: string) => {
    setTimeout(() => setTouched((before) => new Set(before).add(field)), SETTLED_MS + 100);
  }, []);
  const errorOf = (field: string) =>
    isAll || touched.has(field) ? issues.find((issue) => issue.field === field)?.message : undefined;
  return { errorOf, touch, showAll: () => setIsAll(true) };
}

/**
 * Opens the pack after it was published, and reports whether the node's fingerprint matches the one computed
 * here.
 */
function useShowPublished(): void {
  const { publication, settle } = usePublication();
  const navigate = useNavigate();
  const queries = useQueryClient();
  useEffect(() => {
    if (publication.state !== 'published') return;
    const { pack, fingerprint } = publication;
    const isSame = pack.digest === fingerprint;
    notifications.show({
      title: isSame ? 'Published' : 'Published with a different fingerprint',
      message: isSame
        ? 'The node recorded the fingerprint that this browser computed.'
        : 'The fingerprint recorded by the node differs from the one computed in this browser. Verify the pack.',
      color: isSame ? undefined : 'red',
      autoClose: isSame ? 6000 : false,
    });
    settle();
    // A new pack appears on its original, its previous version, its study, its subject and in every list.
    void queries.invalidateQueries();
    void navigate(`/packs/${pack.id}`);
  }, [publication, settle, navigate, queries]);
}

function StartOver({ isEnabled }: { isEnabled: boolean }) {
  const draft = useDraft((state) => state.draft);
  const files = useDraftFiles((state) => state.files);
  const discard = useDraftSaving((state) => state.discard);
  const [isAsking, ask] = useDisclosure(false);
  const [error, setError] = useState<unknown>();
  if (!isTouched(draft) && files.length === 0) return null;
  const startOver = () => void discard().then(ask.close, setError);
  return (
    <>
      <Button variant="default" disabled={!isEnabled} onClick={ask.open}>
        Start over
      </Button>
      <Modal opened={isAsking} onClose={ask.close} title="Start over?">
        <p>This removes everything you have entered and all files. Published packs are not affected.</p>
        {error !== undefined && <ErrorNote error={error} />}
        <Group justify="flex-end" mt="lg" gap="sm">
          <Button variant="default" onClick={startOver}>
            Start over
          </Button>
          <Button onClick={ask.close}>Keep draft</Button>
        </Group>
      </Modal>
    </>
  );
}
