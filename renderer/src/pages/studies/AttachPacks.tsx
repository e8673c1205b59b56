import { Button, Checkbox, Modal, Stack } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { type Pack, recordOf } from '../../../../shared/archive/pack.ts';
import type { Study } from '../../../../shared/archive/study.ts';
import { TERMS_VERSION } from '../../../../shared/limits.ts';
import { call } from '../../api/client.ts';
import { sendStream } from '../../api/sendStream.ts';
import { useCall } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { DialogButtons } from '../../components/forms/DialogButtons.tsx';
import { PackPicker } from '../../components/forms/pickers/PackPicker.tsx';
import { authorsLine } from '../../format/authors.ts';
import classes from './AttachPacks.module.css';

export interface AttachPacksProps {
  study: Study;
  opened: boolean;
  onClose: () => void;
}

/**
 * Adds published packs to a study. The study is part of a pack's fingerprinted record, so a published pack cannot be
 * changed: a new version of it is published whose record names the study.
 */
export function AttachPacks({ study, opened, onClose }: AttachPacksProps) {
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
    <ul className={classes.chosen} aria-label="Packs to add">
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
    <li>
      <span>
        <span className="wrap-anywhere">{pack.data.title}</span>{' '}
        <span className="muted small">{authorsLine(pack.data.authors)}</span>
        {note && <span className={classes.note}>{note}</span>}
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
