import { notifications } from '@mantine/notifications';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useNavigate } from 'react-router';
import { Page } from '../../components/layout/Page.tsx';
import { canonicalSha256 } from '../../hashing/sha256.ts';
import { useIsOwner, useMayContribute, useSession } from '../../state/session.ts';
import classes from './AssemblePage.module.css';
import { DraftForStudy } from './DraftForStudy.tsx';
import { DraftFromPack } from './DraftFromPack.tsx';
import { useDraft } from './draft.ts';
import { useCheckedDraft, useShownErrors } from './draftIssues.ts';
import { checkDraft } from './draftRecord.ts';
import { useDraftFiles } from './files/draftFiles.ts';
import { FilesSection } from './files/FilesSection.tsx';
import { jumpToField, PackFormContext, type PackFormState } from './formContext.ts';
import { PublishPanel } from './PublishPanel.tsx';
import { usePublication } from './publication.ts';
import { StartOver } from './StartOver.tsx';
import { DraftsButton } from './saving/DraftsButton.tsx';
import { useDraftSaving, useIsDraftOpen } from './saving/draftSaving.ts';
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

/** The form in which a pack is created from files and a record, and published. */
export default function AssemblePage() {
  const mayContribute = useMayContribute();
  const isKnown = useSession((state) => state.session !== undefined);
  if (!isKnown) return <p className="muted">Loading…</p>;
  return mayContribute ? <PackForm /> : <VisitorNotice />;
}

function PackForm() {
  const { draft, change } = useDraft();
  const files = useDraftFiles((state) => state.files);
  const isOwner = useIsOwner();
  const isDraftOpen = useIsDraftOpen();
  const { publication, publish } = usePublication();
  const isPublishing = publication.state === 'running';
  useOpenDraft(isOwner);
  useShowPublished();

  const { issues, fingerprint } = useCheckedDraft(draft, files);
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
          <StartOver isEnabled={isDraftOpen && !isPublishing} />
          {isOwner && <DraftsButton isEnabled={isDraftOpen && !isPublishing} />}
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

/** Opens the owner's draft of the node, or a visitor's draft of this browser. */
function useOpenDraft(isOwner: boolean): void {
  const { start, stop } = useDraftSaving();
  const restore = useDraftFiles((state) => state.restore);
  useEffect(() => {
    if (isOwner) return void start();
    stop();
    void restore();
  }, [isOwner, start, stop, restore]);
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
