// The deployment's plugins and one more, whose tools have effects that the harness counts.
import type { BundledPlugin } from '../../../src/features/plugins/types/manifest.ts'
import { bundledPlugins as shipped } from '../../../src/bundled.gen.ts'
import { effectPlugins } from './effect-plugins.ts'

export const bundledPlugins: readonly BundledPlugin[] = [...shipped, ...effectPlugins]
