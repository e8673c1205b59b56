import { Button, Group, Progress, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { DataFolder as Place } from '../../../../shared/node/dataFolder.ts';
import type { DesktopApi, MoveProgress } from '../../../../shared/node/owner.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { CopyButton, ItemButton } from '../../components/forms/buttons.tsx';
import { DialogForm, FormDialog, OpenModal, Question } from '../../components/forms/DialogForm.tsx';
import { desktop } from '../../desktop.ts';
import { formatBytes } from '../../format.ts';
import { useSession } from '../../state/session.ts';
import { SettingsGroup } from './SettingsForm.tsx';
import classes from './SettingsPage.module.css';

/** Where the archive is on this machine. The desktop app moves it and opens others; elsewhere a command moves it. */
export function DataFolder() {
  const place = useCall('readDataFolder');
  return (
    <SettingsGroup
      id="data-folder"
      title="Data folder"
      meaning="Everything is in this folder: the records, the stored bytes and the keys."
    >
      {place.error && <ErrorNote error={place.error} onRetry={() => void place.refetch()} />}
      {place.data && <ShownPlace place={place.data} />}
    </SettingsGroup>
  );
}

function ShownPlace({ place }: { place: Place }) {
  const app = desktop();
  const isSample = useSession(({ session }) => session?.sample === 'open');
  return (
    <>
      <p className="line gap-2">
        <span className="mono small wrap-anywhere">{place.folder}</span>
        <CopyButton text={place.folder} what="the path of the data folder" />
      </p>
      {place.moved_from && <OldFolder move={place.moved_from} />}
      {isSample && <p className="small">This is the sample archive. It is removed when you leave it.</p>}
      {!isSample && app && <DesktopArchives app={app} folder={place.folder} />}
      {!isSample && !app && <MoveCommand folder={place.folder} />}
    </>
  );
}

function OldFolder({ move: { folder, at, exists } }: { move: NonNullable<Place['moved_from']> }) {
  const [isAsking, setIsAsking] = useState(false);
  const removal = useSave('removeOldFolder', () => ({}), { onSaved: () => setIsAsking(false) });
  return (
    <div className="card stack gap-3 start">
      <p>
        The archive was moved here <TimeText at={at} />. The old folder{' '}
        <span className="mono small wrap-anywhere">{folder}</span>{' '}
        {exists ? 'is kept until you remove it.' : 'is not there now; its disk may not be attached.'}
      </p>
      <Button
        variant="default"
        size="compact-sm"
        style={{ justifySelf: 'start', alignSelf: 'start' }}
        onClick={() => setIsAsking(true)}
      >
        {exists ? 'Remove the old folder' : 'Forget the old folder'}
      </Button>
      {isAsking && (
        <Question
          title={exists ? 'Remove the old folder?' : 'Forget the old folder?'}
          answer={exists ? 'Remove' : 'Forget'}
          save={{ ...removal, mutate: () => removal.mutate() }}
          onClose={() => setIsAsking(false)}
        >
          {exists
            ? `Everything in ${folder} is removed. Every file was compared with its copy in the new folder.`
            : `If ${folder} still exists, it stays, and opening it says where the archive is.`}
        </Question>
      )}
    </div>
  );
}

function MoveCommand({ folder }: { folder: string }) {
  const command = `strongroom move ${quoted(folder)} NEW_FOLDER`;
  return (
    <div className="stack gap-3">
      <p className="small">
        To move the archive to another disk, stop the node and run this command. Then start the node with the
        new folder.
      </p>
      <p className="line gap-2">
        <code className="wrap-anywhere">{command}</code>
        <CopyButton text={command} what="the command" />
      </p>
    </div>
  );
}

/** For a shell, if the path has more than letters, digits and what separates them. */
function quoted(path: string): string {
  return /^[\w./:\\-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}

/** What can be done with archives in the app, each in a dialog that asks for a folder. */
const ACTIONS = {
  move: {
    button: 'Move to another folder…',
    title: 'Move the archive',
    label: 'New folder',
    submit: 'Move',
    text: 'Name a folder that does not exist or is empty, for example on another disk. Everything is copied and compared, which can take long; meanwhile nothing is collected. Then Strongroom starts again. The old folder is kept until you remove it.',
    send: (app: DesktopApi, folder: string) => app.moveArchive(folder),
  },
  open: {
    button: 'Open another archive…',
    title: 'Open another archive',
    label: 'Its data folder',
    submit: 'Open',
    text: 'Strongroom closes this archive and starts again with the other one.',
    send: (app: DesktopApi, folder: string) => app.openArchive(folder),
  },
  create: {
    button: 'New archive…',
    title: 'Make a new archive',
    label: 'New folder',
    submit: 'Make and open',
    text: 'Name a folder that does not exist or is empty. Strongroom closes this archive and starts again with the new one.',
    send: (app: DesktopApi, folder: string) => app.createArchive(folder),
  },
} as const;
type Action = keyof typeof ACTIONS;

/** How often the progress of a move is read. */
const POLL_MS = 300;

function DesktopArchives({ app, folder }: { app: DesktopApi; folder: string }) {
  const archives = useQuery({ queryKey: ['desktop', 'archives'], queryFn: () => app.readArchives() });
  const [action, setAction] = useState<Action>();
  const [isSent, setIsSent] = useState(false);
  const progress = useQuery({
    queryKey: ['desktop', 'move'],
    queryFn: () => app.readMoveProgress(),
    enabled: isSent && action === 'move',
    refetchInterval: POLL_MS,
  });
  const move = isSent ? progress.data : null;
  const show = useMutation({ mutationFn: () => app.showDataFolder() });
  const open = useMutation({ mutationFn: (path: string) => requireAccepted(app.openArchive(path)) });
  if (archives.error) return <ErrorNote error={archives.error} />;
  if (!archives.data) return null;
  const { fixed, recent } = archives.data;
  return (
    <>
      <Group gap="xs">
        <Button variant="default" size="compact-sm" onClick={() => show.mutate()}>
          Show folder
        </Button>
        {fixed === null &&
          (Object.keys(ACTIONS) as Action[]).map((each) => (
            <Button key={each} variant="default" size="compact-sm" onClick={() => setAction(each)}>
              {ACTIONS[each].button}
            </Button>
          ))}
      </Group>
      {show.error && <ErrorNote error={show.error} />}
      {fixed !== null && <p className="small muted">{fixed}</p>}
      {fixed === null && recent.length > 0 && (
        <div>
          <h3>Opened before</h3>
          <ul className={`${classes.recent} plain`}>
            {recent.map((path) => (
              <li key={path} className="line between gap-3">
                <span className="mono small wrap-anywhere">{path}</span>
                <ItemButton
                  label="Open"
                  of={path}
                  loading={open.isPending && open.variables === path}
                  onClick={() => open.mutate(path)}
                />
              </li>
            ))}
          </ul>
          {open.error && <ErrorNote error={open.error} />}
        </div>
      )}
      {action && (
        <FormDialog opened={!move} title={ACTIONS[action].title} onClose={() => setAction(undefined)}>
          <FolderForm app={app} action={action} onRunning={setIsSent} />
        </FormDialog>
      )}
      {move && <Moving progress={move} folder={folder} />}
    </>
  );
}

/** Rejects with the sentence of a refusal. If it is accepted, the app ends. */
async function requireAccepted(answer: Promise<string | null>): Promise<void> {
  const refusal = await answer;
  if (refusal !== null) throw new Error(refusal);
}

interface FolderFormProps {
  app: DesktopApi;
  action: Action;
  onRunning: (isRunning: boolean) => void;
}

function FolderForm({ app, action, onRunning }: FolderFormProps) {
  const { label, submit, text, send } = ACTIONS[action];
  const form = useForm({ initialValues: { folder: '' } });
  const save = useMutation({
    mutationFn: ({ folder }: { folder: string }) => requireAccepted(send(app, folder.trim())),
    onMutate: () => onRunning(true),
    onSettled: () => onRunning(false),
  });
  const choose = useMutation({
    mutationFn: () => app.chooseFolder(),
    onSuccess: (folder) => folder !== null && form.setFieldValue('folder', folder),
  });
  return (
    <DialogForm form={form} save={save} submit={submit} canSubmit={form.values.folder.trim() !== ''}>
      <p className="small">{text}</p>
      <Group gap="xs" align="end" wrap="nowrap">
        <TextInput
          label={label}
          flex={1}
          spellCheck={false}
          data-autofocus
          {...form.getInputProps('folder')}
        />
        <Button variant="default" onClick={() => choose.mutate()}>
          Choose…
        </Button>
      </Group>
    </DialogForm>
  );
}

/** The progress of a move. The node is closed, so nothing else can be done. */
function Moving({ progress: { done, total }, folder }: { progress: MoveProgress; folder: string }) {
  return (
    <OpenModal onClose={() => {}} withCloseButton={false} title="The archive is being moved" size="md">
      <p className="small">
        {total === 0
          ? 'The archive is being closed.'
          : `${formatBytes(done)} of ${formatBytes(total)} were copied or compared. If you quit now, the archive stays in ${folder}.`}
      </p>
      <Progress
        aria-label="Progress of the move"
        value={total === 0 ? 0 : (100 * done) / total}
        mt="md"
        transitionDuration={0}
      />
    </OpenModal>
  );
}
