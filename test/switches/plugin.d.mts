import type { Plugin } from 'vitest/config'
import type { Switch } from './switches.mjs'

export const offVariable: string
export const markVariable: string
export function withoutProtection(text: string, off: Switch): string
export function switchedOff(off?: string): Plugin
