import type { ApprovalRules } from '#runtime/session/types/approval.ts'
import type { KeyStore } from '#features/access/types/keys.ts'
import type { DeploymentLog } from '#contracts/event.ts'
import type { GrantStore } from '#features/access/types/oauth.ts'
import type { PlatformCount } from '#contracts/platform.ts'
import type { SecretStore } from '#features/access/types/secrets.ts'
import type { Sources } from '#contracts/sources.ts'
import type { TrustStore } from '#runtime/catalog/types/plugin-upload.ts'
import { createAnswerGuard } from '#features/policy/answers/answer-guard.ts'
import { createLogins } from '#features/access/logins.ts'
import {
  createCredentialState,
  createMayBegin,
  createMayGoOn,
  type MayBeginOptions,
} from '#features/access/may-begin.ts'
import {
  createCostLimits,
  createLimitsOf,
  type LimitsOfOptions,
} from '#features/access/limits-of.ts'
import { createKeyAdministration } from '#features/access/key-administration.ts'
import type { openOAuth as OpenOAuth, OAuthParts } from './sign-in.ts'
import { createTryPolicy } from '#features/policy/decide-tool.ts'
import { createLivePolicy, type LivePolicyDeps } from '#features/policy/live-policy.ts'
import { createPlannedJob } from '#platform/objects/planned-job.ts'
import {
  createPrincipalLedger,
  type PrincipalNamespace,
} from '#features/access/principal-ledger.ts'
import { createLearnedSecrets, createRedactor } from '#features/record/redactor.ts'
import {
  createSealing,
  type MasterKeys,
  createSecretReader,
  createStateKey,
} from '#features/access/secrets/sealing.ts'
import {
  createSecretAdministration,
  type SecretAdministrationDeps,
} from '#features/access/secrets/secret-administration.ts'
import { createRequestLimits, type RequestLimitsOptions } from '#features/access/request-limits.ts'
import { composeTelemetry, type OtlpConfig } from '#features/record/telemetry/otlp-exporter.ts'
import { createLogWriter, type LogWriterOptions } from '#features/record/telemetry/log-writer.ts'
import { tellEnds } from '#features/access/told-ends.ts'
import { createToAsk } from '#features/approvals/to-ask.ts'
import { createClaimCheck, createKnownKeys } from '#features/access/known-keys.ts'
import { createTrustAdministration } from '#features/access/trust-administration.ts'

interface GovernanceConfig extends Pick<LivePolicyDeps, 'ownHosts'> {
  readonly secrets: readonly string[]
  readonly logLevel: LogWriterOptions['level']
  readonly masterKeys: MasterKeys
  readonly dailyLimits: LimitsOfOptions['defaults']
  readonly otlp: OtlpConfig
}

export interface GovernanceParts extends Sources, Pick<OAuthParts, 'send' | 'checkUrl'> {
  readonly config: GovernanceConfig & OAuthParts['config']
  readonly stores: {
    readonly keys: KeyStore
    readonly grants: GrantStore
    readonly secrets: SecretStore
    readonly trust: TrustStore
    readonly deploymentLog: DeploymentLog
    readonly approvalRules: ApprovalRules
  }
  readonly namespace: PrincipalNamespace
  readonly deployment: PlatformCount
  readonly counters: RequestLimitsOptions['counters']
  readonly installed: Pick<LivePolicyDeps, 'snapshot'>
  readonly unseen: NonNullable<LivePolicyDeps['unseen']>
  readonly fullNameOf: MayBeginOptions['fullNameOf']
  readonly rotateOthers: NonNullable<SecretAdministrationDeps['rotateOthers']>
  /** Absent where the platform lacks a part that it needs. */
  readonly openOAuth: typeof OpenOAuth | undefined
  readonly kv: KVNamespace
  readonly randomBytes: (count: number) => Uint8Array<ArrayBuffer>
  readonly write: LogWriterOptions['write']
  readonly version: string
}

/** Rights, limits and the record: leaves first. */
export function composeGovernance(parts: GovernanceParts) {
  const { config, stores, installed, clock, sha256, fullNameOf } = parts
  const { deploymentLog: log } = stores
  const learned = createLearnedSecrets()
  const redact = createRedactor(config.secrets, learned)
  const writer = createLogWriter({ level: config.logLevel, redact, clock, write: parts.write })
  const sealing = createSealing(config.masterKeys, parts)
  const secrets = { secrets: stores.secrets, sealing, learn: learned.learn }
  const limitsOf = createLimitsOf({ defaults: config.dailyLimits, keys: stores.keys, clock })
  const principals = createPrincipalLedger({ ...parts, limitsOf })
  const knownKeys = createKnownKeys(parts)
  const { keys, grants } = tellEnds({ ...stores, principals, forget: knownKeys.clear })
  const { takeRate } = principals
  const { version, send } = parts
  const { operatorKey } = config
  const onFault = writer.fault
  const limits = createRequestLimits({ counters: parts.counters, operatorKey, sha256, onFault })
  const signIn = { ...parts, keys, grants, log, takeRate, onFault }
  return {
    log: writer,
    redact,
    limits,
    learn: learned.learn,
    principals,
    sealing,
    readSecrets: createSecretReader(secrets),
    policy: createLivePolicy({
      ...installed,
      ...config,
      unseen: parts.unseen,
      takeRate,
      toAsk: createToAsk({ ...parts, rules: stores.approvalRules }),
    }),
    answers: createAnswerGuard(installed),
    logins: createLogins({
      ...signIn,
      limits,
      operatorKey,
      knownKeys,
      openOAuth: parts.openOAuth?.(signIn),
    }),
    createJob: createPlannedJob,
    credentialState: createCredentialState({ keys, grants, clock }),
    telemetry: composeTelemetry({ version, send, otlp: config.otlp, redact }),
    /** The checks before a run begins, and before it goes on. */
    ofRuns: {
      holdsClaim: createClaimCheck({ keys, clock }),
      whyNotOn: createMayGoOn({ keys, fullNameOf }),
      mayBegin: createMayBegin({
        keys,
        grants,
        people: config.oidc?.people ?? [],
        clock,
        fullNameOf,
      }),
    },
    administration: {
      keys: createKeyAdministration({ ...parts, keys }),
      trust: createTrustAdministration({ clock, sha256, store: stores.trust }),
      secrets: createSecretAdministration({ ...secrets, clock, rotateOthers: parts.rotateOthers }),
      stateKey: createStateKey(config.masterKeys, { ...secrets, sha256 }),
      costLimits: createCostLimits({ defaults: config.dailyLimits, keys, clock }),
      secretProblem: sealing.problem,
      tryPolicy: createTryPolicy(config.ownHosts),
    },
  }
}
