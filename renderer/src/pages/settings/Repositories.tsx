import { Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconPlus } from '@tabler/icons-react';
import type { Repository } from '../../../../shared/node/deposit.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { TimeText } from '../../components/data/Values.tsx';
import { EmptyState, ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { IconButton, RemoveItemButton } from '../../components/forms/buttons.tsx';
import { FormDialog, Question } from '../../components/forms/DialogForm.tsx';
import { RepositoryForm, repositoryName } from '../../components/forms/RepositoryDialog.tsx';
import { SettingsGroup } from './SettingsForm.tsx';

/** A person has few. */
const SHOWN = 200;

const KIND_NAMES = { invenio: 'InvenioRDM', dataverse: 'Dataverse' } as const;

/** The repositories in which packs can be deposited. */
export function Repositories() {
  const answer = useCall('listRepositories', { query: { limit: SHOWN } });
  const [isAdding, adding] = useDisclosure();
  const add = (
    <IconButton icon={IconPlus} onClick={adding.open}>
      Add a repository
    </IconButton>
  );
  return (
    <SettingsGroup
      id="repositories"
      title="Repositories"
      meaning="Packs can be deposited in a research data repository, where they get a DOI. The button “Deposit…” is on the page of each pack."
    >
      {answer.error && <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />}
      {answer.data?.items.length === 0 && (
        <EmptyState title="Deposit packs with a DOI" action={add}>
          Add Zenodo, another InvenioRDM repository, or a Dataverse, with a token of your account there.
        </EmptyState>
      )}
      {answer.data && answer.data.items.length > 0 && (
        <>
          <ul className="plain stack gap-4">
            {answer.data.items.map((repository) => (
              <RepositoryItem key={repository.id} repository={repository} />
            ))}
          </ul>
          <div>{add}</div>
        </>
      )}
      <FormDialog opened={isAdding} onClose={adding.close} title="Add a repository" size="lg">
        <RepositoryForm />
      </FormDialog>
    </SettingsGroup>
  );
}

function RepositoryItem({ repository }: { repository: Repository }) {
  const { kind, has_token, added_at } = repository;
  const name = repositoryName(repository);
  const [isRemoving, removing] = useDisclosure();
  return (
    <li className="card stack gap-2">
      <h3 className="wrap-anywhere">{name}</h3>
      <p className="muted small">
        {KIND_NAMES[kind]} · added <TimeText at={added_at} />
      </p>
      {!has_token && (
        <p className="small">Its token is not in this data folder. Add the repository again to enter it.</p>
      )}
      <Group gap="xs">
        <RemoveItemButton of={name} onClick={removing.open} />
      </Group>
      {isRemoving && <RemoveRepository repository={repository} onClose={removing.close} />}
    </li>
  );
}

function RemoveRepository({ repository, onClose }: { repository: Repository; onClose: () => void }) {
  const removal = useSave('removeRepository', () => ({ params: { id: repository.id } }), {
    onSaved: onClose,
  });
  return (
    <Question title="Remove this repository?" answer="Remove" save={removal} onClose={onClose}>
      This node forgets the token for <strong>{repositoryName(repository)}</strong>. What was deposited stays
      there, and DOIs stay with their packs.
    </Question>
  );
}
