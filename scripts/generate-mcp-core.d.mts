import type { Generated } from './generated.mjs'

interface Core {
  readonly name: string
  readonly path: string
}

export declare function mcpCores(): { readonly client: Core; readonly server: Core }
export declare function generateMcpCore(): string
export declare const mcpCore: Generated
