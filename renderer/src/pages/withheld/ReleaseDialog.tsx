import { Button, Checkbox, Group, Progress, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Link } from 'react-router';
import { newReleaseSchema, type WithheldObject, type Withholding } from '../../../../shared/node/withheld.ts';
import { callKey, useReload } from '../../api/useCall.ts';
import {
  ReasonFields,
  type ReasonValues,
  reasonErrors,
  useObjectName,
} from '../../components/content/Withheld.tsx';
import { DigestChip, TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { FormDialog, useEdits, useFormDialog } from '../../components/forms/DialogForm.tsx';
import { copyPlace, countOf, formatBytes, formatCount } from '../../format.ts';
import {
  allWithheldObjects,
  type Kind,
  releaseAll,
  type Uses,
  type UsesOf,
  usesOf,
} from './releaseObjects.ts';

/** So many objects are named, and can be chosen one by one. More are given up together. */
const NAMED = 100;
/** So many are named again before they are given up. */
const NAMED_AGAIN = 15;

interface ReleaseDialogProps {
  withholding: Withholding;
  onClose: () => void;
}

/**
 * Gives up what a withholding covers. It asks twice: first which bytes and why, with everything that uses them, then
 * whether that is understood.
 */
export function ReleaseDialog({ withholding, onClose }: ReleaseDialogProps) {
  const { data, error, refetch } = useQuery({
    queryKey: [
      ...callKey('listWithheldObjects', { query: { withholding: withholding.ledger_entry } }),
      'all',
    ],
    queryFn: ({ signal }) => allWithheldObjects(withholding.ledger_entry, signal),
  });
  return (
    <FormDialog opened onClose={onClose} title="Release for good" size="lg">
      {error ? (
        <ErrorNote error={error} onRetry={() => void refetch()} />
      ) : data ? (
        <ReleaseSteps objects={data} withholding={withholding} />
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
        {objects.length > NAMED && (
          <p>
            <strong>
              This withholding covers {countOf(objects.length, 'object')}, {formatBytes(bytesOf(objects))}.
              All of them are given up.
            </strong>
          </p>
        )}
        {objects.length > 1 && objects.length <= NAMED && (
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

const whySchema = newReleaseSchema.omit({ sha256: true });

/** Asks the second time, and gives the bytes up. */
function Confirm({ chosen, values: { reason, note }, onBack }: ConfirmProps) {
  const { onDone } = useFormDialog();
  const [isUnderstood, setIsUnderstood] = useState(false);
  const [{ done, total }, setProgress] = useState({ done: 0, total: chosen.length });
  const reload = useReload();
  const release = useMutation({
    mutationFn: () => {
      const digests = chosen.map(({ sha256 }) => sha256);
      setProgress({ done: 0, total: digests.length });
      const why = whySchema.parse({ reason, ...(note.trim() && { note }) });
      return releaseAll(digests, why, (given) => setProgress({ done: given, total: digests.length }));
    },
    onSuccess: () => {
      onDone();
      notifications.show({ message: `${countOf(total, 'object')} given up.` });
    },
    onSettled: () => reload('release'),
  });
  return (
    <Stack gap="md">
      <p>
        <strong>
          You are about to give up {countOf(chosen.length, 'object')}, {formatBytes(bytesOf(chosen))}.
        </strong>{' '}
        Nothing brings these bytes back.
      </p>
      <ul className="plain stack gap-1 small scroll" aria-label="Objects that are given up">
        {chosen.slice(0, NAMED_AGAIN).map((object) => (
          <GivenUp key={object.sha256} object={object} />
        ))}
        {chosen.length > NAMED_AGAIN && (
          <li className="muted">and {formatCount(chosen.length - NAMED_AGAIN)} smaller ones</li>
        )}
      </ul>
      <Checkbox
        label="I have read what is lost, and I do not need these bytes any more."
        checked={isUnderstood}
        onChange={({ currentTarget }) => setIsUnderstood(currentTarget.checked)}
        data-autofocus
      />
      {release.isPending && (
        <>
          <output className="small">
            {formatCount(done)} of {formatCount(total)} were given up.
          </output>
          <Progress aria-label="Progress of giving up" value={(100 * done) / total} transitionDuration={0} />
        </>
      )}
      {release.error && (
        <>
          <ErrorNote error={release.error} />
          <p className="small">
            {formatCount(done)} of {formatCount(total)} were given up before that. The others are as they
            were: release them again.
          </p>
        </>
      )}
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

function bytesOf(objects: readonly WithheldObject[]): number {
  return objects.reduce((sum, { bytes }) => sum + bytes, 0);
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

/** Names what loses its bytes if some digests are given up: everything in the archive that uses them, and the copies. */
function Lost({ digests }: { digests: readonly string[] }) {
  const [done, setDone] = useState(0);
  const { data, error } = useQuery({
    queryKey: [...callKey('previewRelease'), digests],
    queryFn: ({ signal }) => usesOf(digests, { signal, onProgress: setDone }),
  });
  return (
    <section className="card stack gap-3" aria-label="What uses these bytes">
      <h3>What uses these bytes</h3>
      {error && <ErrorNote error={error} />}
      {!data && !error && (
        <output className="muted">
          Looking for what uses them: {formatCount(done)} of {formatCount(digests.length)}
        </output>
      )}
      {data && <AllUses uses={data} />}
    </section>
  );
}

function AllUses({ uses }: { uses: Uses }) {
  const groups = [
    group('Packs, which are then incomplete', uses.packs, ({ id, path, title }) => [
      `${id} ${path}`,
      <>
        <Link to={`/packs/${id}`}>{title}</Link>, {path}
      </>,
    ]),
    group('Sources', uses.sources, ({ id, url, retrievals }) => [
      id,
      <>
        <Link to={`/sources/${id}`}>{url}</Link>, {countOf(retrievals, 'retrieval')}
      </>,
    ]),
    group('Events, whose differences can no longer be shown', uses.events, ({ id, url, observed_at }) => [
      String(id),
      <>
        <Link to={`/timeline/${id}`}>Event {formatCount(id)}</Link> of {url}, <TimeText at={observed_at} />
      </>,
    ]),
    group('Page captures', uses.pages, ({ id, url }) => [
      id,
      <Link key={id} to={`/pages/${id}`}>
        {url}
      </Link>,
    ]),
    group(
      'Handed in: the file keeps the bytes that are in it, unless it is given up, too',
      uses.handed_in,
      ({ id, url }) => [
        id,
        <Link key={id} to={`/handed-in/${id}`}>
          {url}
        </Link>,
      ],
    ),
    group('Findings', uses.findings, ({ id, text }) => [
      id,
      <Link key={id} to={`/findings?state=all&q=${id}`} className="truncate block">
        {text}
      </Link>,
    ]),
    group('Cases', uses.cases, ({ id, title }) => [
      id,
      <Link key={id} to={`/cases/${id}`}>
        {title}
      </Link>,
    ]),
    group('Copies, where they are removed with the next sync', uses.copies, ({ id, target }) => [
      id,
      copyPlace(target),
    ]),
  ].filter((each) => each !== undefined);
  if (groups.length === 0) return <p className="muted">Nothing else in this archive names them.</p>;
  return (
    <dl className="stack gap-3 small">
      {groups.map(({ title, total, items }) => (
        <div key={title}>
          <dt>
            {title} ({formatCount(total)})
          </dt>
          {items.map(([key, item]) => (
            <dd key={key} className="wrap-anywhere">
              {item}
            </dd>
          ))}
          {total > items.length && <dd className="muted">and {formatCount(total - items.length)} more</dd>}
        </div>
      ))}
    </dl>
  );
}

type Keyed = readonly [key: string, item: ReactNode];

interface UseGroup {
  title: string;
  total: number;
  items: Keyed[];
}

/** What is shown of one kind of uses; undefined if there are none. */
function group<Name extends Kind>(
  title: string,
  { total, items }: UsesOf<Name>,
  show: (item: UsesOf<Name>['items'][number]) => Keyed,
): UseGroup | undefined {
  return total === 0 ? undefined : { title, total, items: items.map(show) };
}
