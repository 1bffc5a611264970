import type { Clock } from '#contracts/sources.ts'
import { createApprovalInbox } from '#features/approvals/store/approval-inbox.ts'
import { createApprovalRules } from '#features/approvals/store/approval-rules.ts'
import { createAuditSink, createGivenUpRuns } from '#features/record/store/audit-log.ts'
import { createAuditReader } from '#features/record/store/audit-reader.ts'
import { createBundleStore, type BundlesDeps } from '#features/plugins/store/bundles.ts'
import {
  createDeploymentCount,
  watchDatabase,
  watchNamespace,
} from '#features/record/store/deployment-count.ts'
import { createDeploymentLog } from '#platform/d1/deployment-log.ts'
import { createErasureStore } from '#features/record/store/erasure/erasures.ts'
import { createRecordPlaces } from '#features/record/store/erasure/record.ts'
import {
  createOthersRows,
  createSessionRows,
  createTablePlaces,
} from '#features/record/store/erasure/table-places.ts'
import { createKeyStore } from '#features/access/store/keys.ts'
import { createMemoryOwners } from '#features/memory/store/memory-owners.ts'
import { createManifestStore } from '#features/plugins/store/manifests.ts'
import { createMcpServerStore } from '#features/mcp-servers/store/mcp-servers.ts'
import { createMetricsReport, createModelReport } from '#features/record/store/metrics-report.ts'
import { nearest } from '#platform/d1/database.ts'
import { createGrantStore } from '#features/access/store/oauth-grants.ts'
import { createPluginStore } from '#features/plugins/store/plugins.ts'
import { createRetention, type RetentionOptions } from '#features/record/store/retention.ts'
import { createScheduleIndex } from '#features/schedules/store/schedules.ts'
import { createSecretStore } from '#features/access/store/secrets.ts'
import { createSkillDrafts } from '#features/skills/store/skill-drafts.ts'
import { createSkillStore } from '#features/skills/store/skills.ts'
import { createAgentStore } from '#features/agents/store/stored-agents.ts'
import { createSessionIndex } from '#features/record/store/session-index.ts'
import { createUsageReport } from '#features/record/store/usage-report.ts'
import { createTrustStore } from '#features/access/store/trusted-keys.ts'
import {
  createKnownReadiness,
  readDatabaseState,
  type KnownReadinessDeps,
} from '#platform/d1/readiness.ts'

export interface StorageParts extends Omit<BundlesDeps, 'clock'> {
  readonly clock: Clock
}

/** The health page waits no longer than this for the database. */
const databaseTimeoutMs = 3_000

/** Every table of D1 and key of KV, for the composition. */
export function composeStorage({ database: own, namespace: kv, clock, sha256 }: StorageParts) {
  const deployment = createDeploymentCount()
  const database = watchDatabase(own, deployment)
  const namespace = watchNamespace(kv, deployment)
  const listed = watchDatabase(nearest(own), deployment)
  const modelReport = createModelReport(listed)
  return {
    // Amounts of the database for the record belong to the run.
    audit: createAuditSink(own, deployment),
    deployment,
    /** KV itself, for copies of what is elsewhere. */
    near: namespace,
    bundles: createBundleStore({ database, namespace, sha256, clock }),
    deploymentLog: createDeploymentLog(database),
    /** Persons who are erased: the rows of them, and how far that came. */
    erasure: {
      store: createErasureStore(database),
      sessionRows: createSessionRows(database),
      ...createOthersRows(database),
      tables: createTablePlaces(database),
      record: createRecordPlaces(database),
    },
    grants: createGrantStore(database),
    keys: createKeyStore(database),
    memoryOwners: createMemoryOwners(database),
    manifests: createManifestStore(database, { clock, sha256 }),
    mcpServers: createMcpServerStore(database),
    plugins: createPluginStore(database),
    schedules: createScheduleIndex(database, own),
    secrets: createSecretStore(database),
    skillDrafts: createSkillDrafts(database, clock),
    skills: createSkillStore(database),
    storedAgents: createAgentStore(database),
    trust: createTrustStore(database),
    approvalRules: createApprovalRules(database, clock),
    /** The reports for operators. Lists and sums may be some seconds behind, where the database has replicas. */
    reports: {
      approvals: createApprovalInbox(database, clock),
      audit: createAuditReader(listed),
      givenUp: createGivenUpRuns(database),
      metrics: createMetricsReport(listed, modelReport),
      modelReport,
      sessionIndex: {
        ...createSessionIndex(database),
        list: createSessionIndex(listed).list,
      },
      usage: createUsageReport(listed),
      database: () => readDatabaseState(database, { clock, timeoutMs: databaseTimeoutMs }),
    },
    readiness: (more: Pick<KnownReadinessDeps, 'keepAlive' | 'onReady'>) =>
      createKnownReadiness({ database, notes: namespace, ...more }),
    retention: (options: Omit<RetentionOptions, 'database' | 'clock'>) =>
      createRetention({ database, clock, ...options }),
  }
}
