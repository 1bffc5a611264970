import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { BundledPlugin } from '#features/plugins/types/manifest.ts'
import { createSchemaValidator } from '../../src/runtime/catalog/schema-validator.ts'
import { loadPlugins } from '../../src/features/plugins/loading/in-process-host.ts'
import { toToolEntries } from '../../src/features/plugins/tools/tool-entries.ts'
import { createCapabilityDeps } from '../fakes/plugins.ts'
import register from '../fixtures/plugins/mcp-fixtures/main.ts'
import { describeAsking } from './describe-asking.ts'

const folder = join(import.meta.dirname, '../fixtures/plugins/mcp-fixtures')
const manifest = parse(readFileSync(join(folder, 'plugin.yaml'), 'utf8')) as { grants: object }
const validator = createSchemaValidator()

describeAsking('in process', (request) => {
  const asked = request ? { ...manifest, grants: { ...manifest.grants, request } } : manifest
  const bundled: BundledPlugin = { manifest: asked, files: {}, hash: 'f'.repeat(64), register }
  const { plugins, problems } = loadPlugins([bundled], { validator })
  if (!plugins[0]) throw new Error(JSON.stringify(problems))
  return toToolEntries(plugins[0], createCapabilityDeps({ validator }))
})
