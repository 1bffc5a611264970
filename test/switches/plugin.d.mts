import type { Plugin } from 'vitest/config'
import type { Switch } from './all.d.mts'

export declare const offVariable: string
export declare const markVariable: string
export declare function withoutProtection(text: string, one: Switch): string
export declare function switchedOff(off?: string): Promise<Plugin>
