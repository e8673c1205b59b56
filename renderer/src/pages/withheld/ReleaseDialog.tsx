import { Button, Checkbox, Group, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueries } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import {
  type NewRelease,
  newReleaseSchema,
  type ReleasePreview,
  type WithheldObject,
  type Withholding,
} from '../../../../shared/node/withheld.ts';
import { call } from '../../api/client.ts';
import { callKey, useCall, useReload } from '../../api/useCall.ts';
import {
  ReasonFields,
  type ReasonValues,
  reasonErrors,
  useObjectName,
} from '../../components/content/Withheld.tsx';
import { DigestChip, TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { FormDialog, useEdits, useFormDialog } from '../../components/forms/DialogForm.tsx';
import { countOf, formatBytes, formatCount, placeOf } from '../../format.ts';

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
      {error ? (
        <ErrorNote error={error} onRetry={() => void refetch()} />
      ) : data ? (
        <ReleaseSteps objects={data.items} withholding={withholding} />
      ) : (
        <output className="muted">Loading…</output>
      )}
    </FormDialog>
  );
}

interface ReleaseStepsProps {
  objects: readonly WithheldObject[];
  withholding: Withholding;
}

function ReleaseSteps({ objects, withholding }: ReleaseStepsProps) {
  const { onCancel } = useFormDialog();
  const [isAsking, setIsAsking] = useState(false);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const chosen = objects.filter(({ sha256 }) => !left.has(sha256));
  const form = useForm<ReasonValues>({
    initialValues: { reason: withholding.reason, note: withholding.note ?? '' },
    validate: reasonErrors,
  });
  useEdits(form.isDirty() || left.size > 0);
  const toggle = (sha256: string) => {
    const next = new Set(left);
    if (!next.delete(sha256)) next.add(sha256);
    setLeft(next);
  };
  if (isAsking) return <Confirm chosen={chosen} values={form.values} onBack={() => setIsAsking(false)} />;
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
}

/** Asks the second time, and gives the bytes up. */
function Confirm({ chosen, values: { reason, note }, onBack }: ConfirmProps) {
  const { onDone } = useFormDialog();
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

/** Of each kind, so many uses are listed. */
const LISTED = 6;

/** Names what loses its bytes if some digests are given up: everything in the archive that uses them, and the copies. */
function Lost({ digests }: { digests: readonly string[] }) {
  const { previews, error, isPending } = usePreviews(digests);
  return (
    <section className="card stack gap-3" aria-label="What uses these bytes">
      <h3>What uses these bytes</h3>
      {error && <ErrorNote error={error} />}
      {isPending && <output className="muted">Looking for what uses them…</output>}
      {!isPending && !error && <Uses previews={previews} />}
    </section>
  );
}

function usePreviews(digests: readonly string[]) {
  return useQueries({
    queries: digests.map((sha256) => ({
      queryKey: callKey('previewRelease', { query: { sha256 } }),
      queryFn: ({ signal }: { signal: AbortSignal }) => call('previewRelease', { query: { sha256 }, signal }),
    })),
    combine: (answers) => ({
      previews: answers.flatMap(({ data }) => data ?? []),
      error: answers.find((answer) => answer.error)?.error ?? null,
      isPending: answers.some((answer) => answer.isPending),
    }),
  });
}

function Uses({ previews }: { previews: readonly ReleasePreview[] }) {
  const groups = [
    group('Packs, which are then incomplete', previews, 'packs', ({ id, path, title }) => [
      `${id} ${path}`,
      <>
        <Link to={`/packs/${id}`}>{title}</Link>, {path}
      </>,
    ]),
    group('Sources', previews, 'sources', ({ id, url, retrievals }) => [
      id,
      <>
        <Link to={`/sources/${id}`}>{url}</Link>, {countOf(retrievals, 'retrieval')}
      </>,
    ]),
    group(
      'Events, whose differences can no longer be shown',
      previews,
      'events',
      ({ id, url, observed_at }) => [
        String(id),
        <>
          <Link to={`/timeline/${id}`}>Event {formatCount(id)}</Link> of {url}, <TimeText at={observed_at} />
        </>,
      ],
    ),
    group('Page captures', previews, 'pages', ({ id, url }) => [
      id,
      <Link key={id} to={`/pages/${id}`}>
        {url}
      </Link>,
    ]),
    group('Findings', previews, 'findings', ({ id, text }) => [
      id,
      <Link key={id} to={`/findings?state=all&q=${id}`} className="truncate block">
        {text}
      </Link>,
    ]),
    group('Cases', previews, 'cases', ({ id, title }) => [
      id,
      <Link key={id} to={`/cases/${id}`}>
        {title}
      </Link>,
    ]),
    group('Copies, where they are removed with the next sync', previews, 'copies', ({ id, target }) => [
      id,
      placeOf(target),
    ]),
  ].filter((uses) => uses !== undefined);
  if (groups.length === 0) return <p className="muted">Nothing else in this archive names them.</p>;
  return (
    <dl className="stack gap-3 small">
      {groups.map(({ title, total, items }) => (
        <div key={title}>
          <dt>
            {title} ({formatCount(total)})
          </dt>
          {items.slice(0, LISTED).map(([key, item]) => (
            <dd key={key} className="wrap-anywhere">
              {item}
            </dd>
          ))}
          {total > LISTED && <dd className="muted">and {formatCount(total - LISTED)} more</dd>}
        </div>
      ))}
    </dl>
  );
}

type Kind = 'packs' | 'sources' | 'events' | 'pages' | 'findings' | 'cases' | 'copies';
type Keyed = readonly [key: string, item: ReactNode];

interface UseGroup {
  title: string;
  /** What several of the digests share counts once, as far as it is named. */
  total: number;
  items: Keyed[];
}

/** Joins the uses of one kind; undefined if there are none. */
function group<Name extends Kind>(
  title: string,
  previews: readonly ReleasePreview[],
  kind: Name,
  show: (item: ReleasePreview[Name]['items'][number]) => Keyed,
): UseGroup | undefined {
  const items = new Map(previews.flatMap((preview) => preview[kind].items.map(show)));
  const total = Math.max(items.size, ...previews.map((preview) => preview[kind].total));
  return total === 0 ? undefined : { title, total, items: [...items] };
}
