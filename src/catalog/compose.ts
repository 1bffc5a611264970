import type { SessionGateway } from '#contracts/session-api.ts'
import type { ToolEntry } from '#contracts/tool.ts'
import { createCatalogGateway, emptySnapshot } from './catalog-gateway.ts'
import { createOutputStore, createOutputTool } from './output-tool.ts'
import { withOutsideTools } from './outside-tools.ts'
import { createSchemaValidator } from './schema-validator.ts'
import { createSearchIndex } from './search/search-index.ts'
import { createToolset, type ToolsetOptions } from './toolset.ts'

type GatewayParts = Parameters<typeof createCatalogGateway>[0]

/** What is installed, and what an agent's set of tools is made of, for the composition. */
export function composeCatalog(parts: GatewayParts & { readonly sessions: SessionGateway }) {
  const more = [createOutputTool(parts.sessions)]
  return {
    installed: createCatalogGateway(parts),
    initial: emptySnapshot,
    validator: createSchemaValidator(),
    outputs: createOutputStore(parts.sessions),
    buildIndex: createSearchIndex,
    createToolset: (
      entries: readonly ToolEntry[],
      options: Omit<ToolsetOptions, 'buildIndex' | 'more'>,
    ) => createToolset(entries, { ...options, buildIndex: createSearchIndex, more }),
    withOutside: withOutsideTools,
  }
}
