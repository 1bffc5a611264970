import { hookPoints, manifestSchema } from '#contracts/manifest/manifest.ts'
import type { Manifest } from '#contracts/manifest/manifest.ts'
import { IsolaError } from '#contracts/errors.ts'

/** A point at which hooks of plugins are called. */
export type HookPoint = (typeof hookPoints)[number]

/** The `agent` section of a manifest. */
export type AgentManifest = NonNullable<Manifest['agent']>

/** A point at which a plugin listens, and to which tools or agents. */
export type HookManifest = Manifest['contributes']['hooks'][number]

/** Checks a manifest; throws `plugin_manifest_invalid` naming each path and what to do. */
export function parseManifest(value: unknown, source = 'plugin.yaml'): Manifest {
  const parsed = manifestSchema.safeParse(value)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map(
    (issue) => `${issue.path.join('.') || '(top level)'}: ${issue.message}`,
  )
  throw new IsolaError('plugin_manifest_invalid', `${source}: ${problems.join('; ')}`, {
    ...(parsed.error.issues[0] && { param: parsed.error.issues[0].path.join('.') }),
  })
}
