import type { CatalogGatewayOptions } from '#runtime/catalog/catalog-gateway.ts'
import { composeCatalog } from '#runtime/catalog/compose.ts'
import { createNearSet } from '#runtime/catalog/near-set.ts'
import { lengthPrefixed, principalParts } from '#contracts/objects.ts'
import { operator } from '#features/access/principal-of.ts'
import { placed } from '#platform/objects/location.ts'
import type { Sources } from '#contracts/sources.ts'
import { composeGovernance, type GovernanceParts } from './governance.ts'
import { fullNameIn } from '#surfaces/http/compose.ts'
import { composeModels } from '#platform/models/model-providers.ts'
import { composeOutbound } from '#platform/outbound/compose.ts'
import { composeSchedules } from '#features/schedules/compose.ts'
import { composeSessions } from '#runtime/session/compose.ts'
import { parseConfig } from './settings.ts'
import { keyedHash, secureBytes, writeLine } from './sources.ts'
import { createReadAsset } from '#platform/d1/assets.ts'
import { composeStorage } from './storage.ts'
import { version } from '../../package.json'

/** The base of agents' work: records, sessions, rights, models. */
export function composeBase(
  env: Env,
  sources: Sources,
  {
    keepAlive,
    ...more
  }: Pick<GovernanceParts, 'openOAuth' | 'rotateOthers'> & Pick<CatalogGatewayOptions, 'keepAlive'>,
) {
  const config = parseConfig(env)
  const outbound = composeOutbound({ ...sources, config })
  const shared = { ...sources, ...outbound, config, version }
  const operators = sources.sha256(lengthPrefixed(principalParts(operator.id)))
  const isOperators = (name: string) => name === operators
  const storage = composeStorage({ ...shared, database: env.DB, namespace: env.KV })
  const sessions = composeSessions({
    ...sources,
    namespace: env.SESSION,
    usage: (...asked) => governance.principals.usage(...asked),
  })
  const { gateway } = sessions
  const catalog = composeCatalog({
    ...sources,
    namespace: placed(env.CATALOG, config.location),
    near: createNearSet({
      ...sources,
      store: storage.near,
      key: config.masterKeys.current,
      keyedHash,
    }),
    keepAlive,
    config,
    bundles: storage.bundles,
    store: storage.plugins,
    skills: storage.skills,
    trust: storage.trust,
    sessions: gateway,
    deployment: storage.deployment,
  })
  const { installed, validator, buildIndex, unseenWords } = catalog
  const fullNameOf = fullNameIn(() => models)
  const governance = composeGovernance({
    ...shared,
    stores: storage,
    installed,
    unseen: unseenWords.in,
    namespace: placed(env.PRINCIPAL, config.location, isOperators),
    deployment: storage.deployment,
    counters: {
      strangers: env.STRANGER_LIMIT,
      requests: env.REQUEST_LIMIT,
      sessions: env.SESSION_LIMIT,
    },
    kv: env.OAUTH_KV,
    ...more,
    randomBytes: secureBytes,
    write: writeLine,
    fullNameOf,
  })
  const { readSecrets, redact, log } = governance
  const told = { log: storage.deploymentLog, onFault: log.fault }
  const common = { ...shared, ...told, validator, readSecrets, redact, fullNameOf }
  const models = composeModels({ ...common, ai: env.AI, buildIndex })
  const readAsset = createReadAsset(env.ASSETS)
  const schedules = composeSchedules({
    ...shared,
    ...told,
    sessions,
    governance,
    installed,
    index: storage.schedules,
    namespaces: { principal: env.PRINCIPAL, plugin: env.PLUGIN_SERVICE },
  })
  return { config, storage, sessions, catalog, governance, models, schedules, readAsset, common }
}
