import { Button, Checkbox, Group, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import {
  type NewRelease,
  newReleaseSchema,
  type WithheldObject,
  type Withholding,
} from '../../../../shared/node/withheld.ts';
import { call } from '../../api/client.ts';
import { useCall, useReload } from '../../api/useCall.ts';
import {
  ReasonFields,
  type ReasonValues,
  reasonErrors,
  useObjectName,
} from '../../components/content/Withheld.tsx';
import { DigestChip } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { FormDialog, type FormDialogControls, useEdits } from '../../components/forms/DialogForm.tsx';
import { countOf, formatBytes } from '../../format.ts';
import { Lost } from './Lost.tsx';

/** At most so many objects are given up at once. */
const MAX_CHOSEN = 500;

interface ReleaseDialogProps {
  withholding: Withholding;
  onClose: () => void;
}

/**
 * Gives up what a withholding covers. It asks twice: first which bytes and why, with everything that uses them, then
 * whether that is understood.
 */
export function ReleaseDialog({ withholding, onClose }: ReleaseDialogProps) {
  const { data, error, refetch } = useCall('listWithheldObjects', {
    query: { withholding: withholding.ledger_entry, limit: MAX_CHOSEN },
  });
  return (
    <FormDialog opened onClose={onClose} title="Release for good" size="lg">
      {(controls) =>
        error ? (
          <ErrorNote error={error} onRetry={() => void refetch()} />
        ) : data ? (
          <ReleaseSteps objects={data.items} withholding={withholding} {...controls} />
        ) : (
          <output className="muted">Loading…</output>
        )
      }
    </FormDialog>
  );
}

interface ReleaseStepsProps extends FormDialogControls {
  objects: readonly WithheldObject[];
  withholding: Withholding;
}

function ReleaseSteps({ objects, withholding, onDone, onCancel, onDirty }: ReleaseStepsProps) {
  const [isAsking, setIsAsking] = useState(false);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const chosen = objects.filter(({ sha256 }) => !left.has(sha256));
  const form = useForm<ReasonValues>({
    initialValues: { reason: withholding.reason, note: withholding.note ?? '' },
    validate: reasonErrors,
  });
  useEdits(form.isDirty() || left.size > 0, onDirty);
  const toggle = (sha256: string) => {
    const next = new Set(left);
    if (!next.delete(sha256)) next.add(sha256);
    setLeft(next);
  };
  if (isAsking)
    return <Confirm chosen={chosen} values={form.values} onBack={() => setIsAsking(false)} onDone={onDone} />;
  return (
    <form onSubmit={form.onSubmit(() => setIsAsking(true))} noValidate>
      <Stack gap="md">
        <p>
          The bytes are removed from this disk, from the texts and the search index, and from the copies.
          Nobody can read them again, and you cannot either. The record, the digest and their proof stay.
        </p>
        {objects.length > 1 && (
          <fieldset className="plain stack gap-2">
            <legend className="strong mb-2">
              Which bytes ({chosen.length} of {objects.length})
            </legend>
            {objects.map((object) => (
              <ObjectChoice
                key={object.sha256}
                object={object}
                isChosen={!left.has(object.sha256)}
                onToggle={() => toggle(object.sha256)}
              />
            ))}
          </fieldset>
        )}
        <Lost digests={chosen.map(({ sha256 }) => sha256)} />
        <ReasonFields form={form} />
        <Group justify="flex-end" gap="sm">
          <Button variant="default" onClick={onCancel}>
            Cancel
          </Button>
          <Button type="submit" disabled={chosen.length === 0}>
            Continue
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface ObjectChoiceProps {
  object: WithheldObject;
  isChosen: boolean;
  onToggle: () => void;
}

function ObjectChoice({ object: { sha256, bytes }, isChosen, onToggle }: ObjectChoiceProps) {
  const { text } = useObjectName(sha256);
  return (
    <span className="line gap-3 between">
      <Checkbox size="xs" checked={isChosen} onChange={onToggle} label={text} className="wrap-anywhere" />
      <span className="line gap-2 rigid">
        <span className="small muted numeric">{formatBytes(bytes)}</span>
        <DigestChip digest={sha256} label={`digest of ${text}`} />
      </span>
    </span>
  );
}

interface ConfirmProps {
  chosen: readonly WithheldObject[];
  values: ReasonValues;
  onBack: () => void;
  onDone: () => void;
}

/** Asks the second time, and gives the bytes up. */
function Confirm({ chosen, values: { reason, note }, onBack, onDone }: ConfirmProps) {
  const [isUnderstood, setIsUnderstood] = useState(false);
  const reload = useReload();
  const what = countOf(chosen.length, 'object');
  const bytes = chosen.reduce((sum, object) => sum + object.bytes, 0);
  const release = useMutation({
    mutationFn: async () => {
      // One after another: if one is refused, those before it are given up, and the list says so.
      for (const { sha256 } of chosen) {
        const body: NewRelease = newReleaseSchema.parse({ sha256, reason, ...(note.trim() && { note }) });
        await call('release', { body });
      }
    },
    onSuccess: () => {
      onDone();
      notifications.show({ message: `${what} given up.` });
    },
    onSettled: () => reload('release'),
  });
  return (
    <Stack gap="md">
      <p>
        <strong>
          You are about to give up {what}, {formatBytes(bytes)}.
        </strong>{' '}
        Nothing brings these bytes back.
      </p>
      <ul className="plain stack gap-1 small scroll" aria-label="Objects that are given up">
        {chosen.map((object) => (
          <GivenUp key={object.sha256} object={object} />
        ))}
      </ul>
      <Checkbox
        label="I have read what is lost, and I do not need these bytes any more."
        checked={isUnderstood}
        onChange={({ currentTarget }) => setIsUnderstood(currentTarget.checked)}
        data-autofocus
      />
      {release.error && <ErrorNote error={release.error} />}
      <Group justify="flex-end" gap="sm">
        <Button variant="default" onClick={onBack} disabled={release.isPending}>
          Back
        </Button>
        <Button
          color="red"
          variant="light"
          disabled={!isUnderstood}
          loading={release.isPending}
          onClick={() => release.mutate()}
        >
          Release for good
        </Button>
      </Group>
    </Stack>
  );
}

function GivenUp({ object: { sha256, bytes } }: { object: WithheldObject }) {
  const { text } = useObjectName(sha256);
  return (
    <li className="line gap-3 between">
      <span className="wrap-anywhere">{text}</span>
      <span className="line gap-2 rigid">
        <span className="muted numeric">{formatBytes(bytes)}</span>
        <DigestChip digest={sha256} label={`digest of ${text}`} />
      </span>
    </li>
  );
}
