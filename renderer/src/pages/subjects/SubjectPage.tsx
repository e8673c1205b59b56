import { useDisclosure } from '@mantine/hooks';
import { IconPlus } from '@tabler/icons-react';
import { Link, useParams } from 'react-router';
import type { NodePage as NodeAnswer } from '../../../../shared/routes/archive/archive.ts';
import { useCall } from '../../api/useCall.ts';
import { Markdown } from '../../components/content/Markdown.tsx';
import { StateBadge, TimeText } from '../../components/data/Values.tsx';
import { VirtualList } from '../../components/data/VirtualList.tsx';
import { IconButton } from '../../components/forms/buttons.tsx';
import { ItemPage, Page, Section } from '../../components/layout/Page.tsx';
import { authorsLine, countOf, formatCount } from '../../format.ts';
import { useMayContribute } from '../../state/session.ts';
import { NewStudyDialog } from '../studies/StudiesPage.tsx';
import classes from './Subjects.module.css';
import { NewSubjectDialog } from './SubjectsPage.tsx';

/** A subject: its position in the tree, its children, and its newest studies and packs. */
export default function SubjectPage() {
  const path = useParams()['*'] ?? '';
  const query = useCall('readNode', { params: { path } });
  return (
    <ItemPage
      query={query}
      name="Subject"
      by="path"
      list={{ to: '/nodes', label: 'All subjects' }}
      missing={
        <>
          There is no subject <code className="wrap-anywhere">{path}</code>.
        </>
      }
    >
      {(node) => <WholeNode key={node.path} node={node} />}
    </ItemPage>
  );
}

function WholeNode({ node }: { node: NodeAnswer }) {
  return (
    <>
      <nav
        aria-label="Path to this subject"
        className={`${classes.crumbs} mb-2 cluster stretch gap-2 compact`}
      >
        <Link to="/nodes">Subjects</Link>
        {node.ancestors.map((ancestor) => (
          <Link key={ancestor.path} to={`/nodes/${ancestor.path}`}>
            {ancestor.title}
          </Link>
        ))}
      </nav>
      <Page title={node.title} actions={<SubjectActions path={node.path} />}>
        <p className={`${classes.about} cluster stretch gap-4 muted small`}>
          <span className="mono">{node.path}</span>
          <span>
            {countOf(node.counts.studies, 'study', 'studies')} and {countOf(node.counts.packs, 'pack')} in
            this subject and below
          </span>
          <Link to={`/ledger?from=${node.ledger_entry}`}>entry {formatCount(node.ledger_entry)}</Link>
        </p>
        {node.description && (
          <div className="mb-6">
            <Markdown text={node.description} />
          </div>
        )}
        <Children node={node} />
        <Studies node={node} />
        <Packs node={node} />
      </Page>
    </>
  );
}

function SubjectActions({ path }: { path: string }) {
  const mayContribute = useMayContribute();
  const [isNewNode, newNode] = useDisclosure(false);
  const [isNewStudy, newStudy] = useDisclosure(false);
  if (!mayContribute) return null;
  return (
    <>
      <IconButton icon={IconPlus} onClick={newNode.open}>
        New subject below
      </IconButton>
      <IconButton icon={IconPlus} onClick={newStudy.open}>
        New study
      </IconButton>
      <NewSubjectDialog opened={isNewNode} onClose={newNode.close} parent={path} />
      <NewStudyDialog opened={isNewStudy} onClose={newStudy.close} node={path} />
    </>
  );
}

function Children({ node }: { node: NodeAnswer }) {
  if (node.children.length === 0) return null;
  return (
    <Section title="Below this subject">
      <VirtualList
        label="Subjects below"
        items={node.children}
        keyOf={(child) => child.path}
        render={(child) => (
          <div className={`${classes.row} cluster baseline between gap-4`}>
            <Link to={`/nodes/${child.path}`}>{child.title}</Link>
            <span className="muted small numeric">
              {countOf(child.counts.studies, 'study', 'studies')}, {countOf(child.counts.packs, 'pack')}
            </span>
          </div>
        )}
      />
    </Section>
  );
}

function Studies({ node }: { node: NodeAnswer }) {
  return (
    <Section
      title="Studies"
      actions={
        node.counts.studies > 0 && <Link to={`/studies?node=${node.path}`}>All, including those below</Link>
      }
    >
      {node.studies.length === 0 ? (
        <p className="muted">No study is filed under this subject.</p>
      ) : (
        <VirtualList
          label="Studies"
          items={node.studies}
          keyOf={(study) => study.id}
          render={(study) => (
            <div className={`${classes.row} cluster baseline between gap-4`}>
              <Link to={`/studies/${study.id}`}>{study.title}</Link>
              <StateBadge kind="study" value={study.status} />
            </div>
          )}
        />
      )}
    </Section>
  );
}

function Packs({ node }: { node: NodeAnswer }) {
  return (
    <Section
      title="Packs"
      actions={
        node.counts.packs > 0 && <Link to={`/packs?node=${node.path}`}>All, including those below</Link>
      }
    >
      {node.packs.length === 0 ? (
        <p className="muted">No pack is filed under this subject.</p>
      ) : (
        <VirtualList
          label="Packs"
          items={node.packs}
          keyOf={(pack) => pack.id}
          render={(pack) => (
            <div className={`${classes.row} cluster baseline between gap-4`}>
              <span>
                <Link to={`/packs/${pack.id}`}>{pack.title}</Link>{' '}
                <span className="muted small">{authorsLine(pack.authors)}</span>
              </span>
              <span className="line baseline gap-4">
                <StateBadge kind="outcome" value={pack.outcome} />
                <span className="muted small">
                  <TimeText at={pack.evidence.received_at} />
                </span>
              </span>
            </div>
          )}
        />
      )}
    </Section>
  );
}
