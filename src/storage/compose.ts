import type { Clock } from '#contracts/sources.ts'
import { createApprovalInbox } from './approval-inbox.ts'
import { createApprovalRules } from './approval-rules.ts'
import { createAuditSink } from './audit-log.ts'
import { createAuditReader } from './audit-reader.ts'
import { createBundleStore, type BundlesDeps } from './bundles.ts'
import { createDeploymentCount, watchDatabase, watchNamespace } from './deployment-count.ts'
import { createDeploymentLog } from './deployment-log.ts'
import { createErasureStore } from './erasure/erasures.ts'
import { createRecordPlaces } from './erasure/record.ts'
import { createOthersRows, createSessionRows } from './erasure/session-rows.ts'
import { createTablePlaces } from './erasure/table-places.ts'
import { createGivenUpRuns } from './given-up-runs.ts'
import { createKeyStore } from './keys.ts'
import { createMemoryOwners } from './memory-owners.ts'
import { createManifestStore } from './manifests.ts'
import { createMcpServerStore } from './mcp-servers.ts'
import { createMetricsReport } from './metrics-report.ts'
import { createModelReport } from './model-report.ts'
import { createGrantStore } from './oauth-grants.ts'
import { createPluginStore } from './plugins.ts'
import { createRetention, type RetentionOptions } from './retention.ts'
import { createScheduleIndex } from './schedules.ts'
import { createSecretStore } from './secrets.ts'
import { createSkillDrafts } from './skill-drafts.ts'
import { createSkillStore } from './skills.ts'
import { createAgentStore } from './stored-agents.ts'
import { createSessionIndex } from './session-index.ts'
import { createUsageReport } from './usage-report.ts'
import { createTrustStore } from './trusted-keys.ts'
import { readDatabaseState, readReadiness } from './readiness.ts'

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
  const modelReport = createModelReport(database)
  return {
    // What it makes the database do is its run's.
    audit: createAuditSink(own, deployment),
    deployment,
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
    manifests: createManifestStore(database, clock),
    mcpServers: createMcpServerStore(database),
    plugins: createPluginStore(database),
    schedules: createScheduleIndex(database, own),
    secrets: createSecretStore(database),
    skillDrafts: createSkillDrafts(database, clock),
    skills: createSkillStore(database),
    storedAgents: createAgentStore(database),
    trust: createTrustStore(database),
    approvalRules: createApprovalRules(database, clock),
    /** What an operator reads. */
    reports: {
      approvals: createApprovalInbox(database, clock),
      audit: createAuditReader(database),
      givenUp: createGivenUpRuns(database),
      metrics: createMetricsReport(database, modelReport),
      modelReport,
      sessionIndex: createSessionIndex(database),
      usage: createUsageReport(database),
      database: () => readDatabaseState(database, { clock, timeoutMs: databaseTimeoutMs }),
    },
    readiness: () => readReadiness(database),
    retention: (options: Omit<RetentionOptions, 'database' | 'clock'>) =>
      createRetention({ database, clock, ...options }),
  }
}
