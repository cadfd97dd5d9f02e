/**
 * All words of the interface by language. English is the measure: a language that lacks a key does not compile. The
 * server picks one language for a page and sends only its words, so the browser's code carries none.
 */
import { common as enCommon } from "./en/common.ts";
import { playground as enPlayground } from "./en/playground.ts";
import { reference as enReference } from "./en/reference.ts";
import { status as enStatus } from "./en/status.ts";
import { stress as enStress } from "./en/stress.ts";
import { troubles as enTroubles } from "./en/troubles.ts";
import { voices as enVoices } from "./en/voices.ts";
import { common as jaCommon } from "./ja/common.ts";
import { playground as jaPlayground } from "./ja/playground.ts";
import { reference as jaReference } from "./ja/reference.ts";
import { status as jaStatus } from "./ja/status.ts";
import { stress as jaStress } from "./ja/stress.ts";
import { troubles as jaTroubles } from "./ja/troubles.ts";
import { voices as jaVoices } from "./ja/voices.ts";
import type { Locale } from "./locales.ts";
import { common as zhCommon } from "./zh/common.ts";
import { playground as zhPlayground } from "./zh/playground.ts";
import { reference as zhReference } from "./zh/reference.ts";
import { status as zhStatus } from "./zh/status.ts";
import { stress as zhStress } from "./zh/stress.ts";
import { troubles as zhTroubles } from "./zh/troubles.ts";
import { voices as zhVoices } from "./zh/voices.ts";

const en = {
  common: enCommon,
  playground: enPlayground,
  voices: enVoices,
  reference: enReference,
  status: enStatus,
  stress: enStress,
  troubles: enTroubles,
};

export type Strings = typeof en;

export const STRINGS: Readonly<Record<Locale, Strings>> = {
  en,
  zh: {
    common: zhCommon,
    playground: zhPlayground,
    voices: zhVoices,
    reference: zhReference,
    status: zhStatus,
    stress: zhStress,
    troubles: zhTroubles,
  },
  ja: {
    common: jaCommon,
    playground: jaPlayground,
    voices: jaVoices,
    reference: jaReference,
    status: jaStatus,
    stress: jaStress,
    troubles: jaTroubles,
  },
};
