import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconDownload, IconPencil, IconTrash } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from 'react-router';
import type { Case } from '../../../../shared/findings/case.ts';
import { call, urlOf } from '../../api/client.ts';
import { callKey, useCall } from '../../api/useCall.ts';
import { TimeText } from '../../components/data/TimeText.tsx';
import { EmptyState } from '../../components/feedback/EmptyState.tsx';
import { exportFile } from '../../components/feedback/exportFile.ts';
import { RemoveDialog } from '../../components/forms/RemoveDialog.tsx';
import { ItemPage } from '../../components/layout/ItemPage.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { useIsOwner } from '../../state/session.ts';
import { CaseItems } from './CaseItems.tsx';
import classes from './Cases.module.css';
import { EditCaseDialog } from './EditCaseDialog.tsx';

/** The page of one case. */
export default function CasePage() {
  const { id = '' } = useParams();
  const query = useCall('readCase', { params: { id } });
  return (
    <ItemPage
      query={query}
      name="Case"
      list={{ to: '/cases', label: 'All cases' }}
      missing="It may have been deleted."
    >
      {(found) => <WholeCase key={found.id} shown={found} />}
    </ItemPage>
  );
}

function WholeCase({ shown }: { shown: Case }) {
  const { id, title, description, changed_at, items } = shown;
  return (
    <Page
      title={title}
      lead={
        <>
          Case, changed <TimeText at={changed_at} />
        </>
      }
      actions={<CaseActions shown={shown} />}
    >
      {description && <p className={classes.description}>{description}</p>}
      {items.length === 0 ? (
        <EmptyState title="No items yet">
          Open an event or a pack, or go to a finding, and choose “Add to {title}”.
        </EmptyState>
      ) : (
        <CaseItems key={id} shown={shown} />
      )}
    </Page>
  );
}

function CaseActions({ shown }: { shown: Case }) {
  const isOwner = useIsOwner();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [isEditing, editing] = useDisclosure(false);
  const [isDeleting, deleting] = useDisclosure(false);
  const { id, title } = shown;
  const removal = useMutation({
    mutationFn: () => call('deleteCase', { params: { id } }),
    onSuccess: async () => {
      await navigate('/cases');
      await queries.invalidateQueries({ queryKey: callKey('listCases') });
    },
  });
  return (
    <>
      <Button
        component="a"
        href={urlOf('readCaseBag', { params: { id } })}
        download
        onClick={(click) => void exportFile(click)}
        variant="default"
        leftSection={<IconDownload size={17} aria-hidden />}
      >
        Download bag
      </Button>
      {isOwner && (
        <>
          <Button variant="default" leftSection={<IconPencil size={17} aria-hidden />} onClick={editing.open}>
            Edit
          </Button>
          <Button variant="default" leftSection={<IconTrash size={17} aria-hidden />} onClick={deleting.open}>
            Delete
          </Button>
        </>
      )}
      <EditCaseDialog shown={shown} opened={isEditing} onClose={editing.close} />
      {isDeleting && (
        <RemoveDialog
          title="Delete case?"
          submit="Delete"
          removal={{ ...removal, mutate: () => removal.mutate() }}
          onClose={deleting.close}
        >
          “{title}” and its notes are deleted. Its events, packs and findings stay.
        </RemoveDialog>
      )}
    </>
  );
}
