import { Button, Checkbox, Group, Modal, TextInput } from '@mantine/core';
import { ErrorNote } from '../../../components/feedback/ErrorNote.tsx';
import classes from './AddSource.module.css';
import { PreviewFindings } from './PreviewFindings.tsx';
import { SourceFields } from './SourceFields.tsx';
import { useAddSource, withScheme } from './useAddSource.ts';

export interface AddSourceProps {
  opened: boolean;
  onClose: () => void;
}

/** Adds a source. A test fetch shows what would be stored; adding starts watching and the first check. */
export function AddSource({ opened, onClose }: AddSourceProps) {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title="Watch a source"
      size="lg"
      closeOnClickOutside={false}
      centered={false}
    >
      <AddSourceForm onClose={onClose} />
    </Modal>
  );
}

function AddSourceForm({ onClose }: { onClose: () => void }) {
  const form = useAddSource(onClose);
  const { draft, change, errors, hasFieldErrors, url, tested, isWatched, isPrivate, isRefused, add, runAdd } =
    form;
  return (
    <form onSubmit={form.submit} className={classes.form} noValidate>
      <TestedAddress form={form} onClose={onClose} />
      {isPrivate && (
        <Checkbox
          label="Watch an address in my own network"
          description={`${hostOf(withScheme(url))} is a private address. What it returns becomes part of the archive, and everyone who may read this node can read it.`}
          checked={draft.allow_private}
          onChange={(event) => change({ allow_private: event.currentTarget.checked })}
        />
      )}
      <SourceFields draft={draft} errors={errors} onChange={change} />
      {add.isError && !hasFieldErrors && <ErrorNote error={add.error} />}
      <Group justify="flex-end" gap="sm">
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
        <Button
          variant={tested ? 'filled' : 'default'}
          type={tested ? 'submit' : 'button'}
          onClick={tested ? undefined : () => void runAdd()}
          loading={add.isPending}
          disabled={url === '' || isWatched || isRefused || form.test.isPending}
        >
          Watch
        </Button>
      </Group>
    </form>
  );
}

/** The address with its test fetch, and what that found. */
function TestedAddress({ form, onClose }: { form: ReturnType<typeof useAddSource>; onClose: () => void }) {
  const { draft, change, errors, hasFieldErrors, url, test, tested, runTest } = form;
  return (
    <>
      <div className={classes.address}>
        <TextInput
          label="URL"
          placeholder="https://"
          inputMode="url"
          autoComplete="off"
          data-autofocus
          value={draft.url}
          error={errors.url}
          onChange={(event) => change({ url: event.currentTarget.value })}
        />
        <Button
          variant={tested ? 'default' : 'filled'}
          type={tested ? 'button' : 'submit'}
          onClick={tested && runTest}
          loading={test.isPending}
          disabled={url === ''}
          className={classes.test}
        >
          {tested ? 'Test again' : 'Test fetch'}
        </Button>
      </div>
      <div aria-live="polite" className={classes.found}>
        {test.isPending && <p className="muted small">Fetching once. Nothing is stored.</p>}
        {tested?.note && <p className={`${classes.note} small`}>{tested.note}</p>}
        {tested && <PreviewFindings preview={tested.preview} onLeave={onClose} />}
        {test.isError && !hasFieldErrors && <ErrorNote error={test.error} onRetry={runTest} />}
      </div>
    </>
  );
}

function hostOf(url: string): string {
  return URL.parse(url)?.hostname ?? url;
}
