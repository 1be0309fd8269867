"""Secrets: vendors' tokens by their prefixes, JWTs, private keys, passwords in addresses, labelled secrets."""

from __future__ import annotations

import functools
import re

from corpus_sql.pii_fold import byte_at, is_word, pattern

# In the patterns below \W stands for [A-Za-z0-9_-] and \H for [0-9a-f].
# (vendors, patterns). The forms are those of the vendors' documentation and of public scanners. After a prefix that
# nothing else has, the length is a lower bound: what runs on in the same alphabet is part of the secret. Where only the
# length tells a token from a word or a checksum (SK, key-, 4b1d), it is exact.
TOKENS = (
    ("AWS", r"AKIA[A-Z0-9]{16,}", r"(?:ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}", r"ABSK[A-Za-z0-9+/]{60,}={0,2}"),
    ("Alibaba, Tencent, Volcano, JD", r"LTAI[A-Za-z0-9]{12,}", r"AKID[A-Za-z0-9]{13,}"),
    ("Volcano, JD", r"AKLT\W{20,}", r"JDC_[A-Z0-9]{28,}"),
    ("Google", r"AIza\W{35,}", r"ya29\.\W{20,}", r"GOCSPX-\W{20,}", r"1//0[a-z]?\W{40,}"),
    ("DigitalOcean, Databricks", r"do[opr]_v1_\H{64,}", r"dapi\H{32}(?:-[0-9])?"),
    ("Heroku, Netlify, Fly", r"HRKU-\W{36,}", r"nfp_[A-Za-z0-9]{36,}", r"fo1_\W{43,}"),
    ("Vault, Doppler, Pulumi", r"hv[bsr]\.\W{20,}", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,}"),
    ("Vault, Doppler, Pulumi", r"pul-\H{40,}"),
    ("GitHub", r"gh[pousr]_[A-Za-z0-9]{36,}", r"github_pat_[A-Za-z0-9_]{22,}"),
    ("GitLab", r"gl(?:pat|dt|rt|rtr|ptt|cbt|ft|imt|agent|oas|soat|ffct|wt)-\W{20,}(?:\.\W{2,})*", r"GR1348941\W{20,}"),
    ("Atlassian", r"ATBB[A-Za-z0-9]{24,}", r"AT(?:ATT|CTT)3[A-Za-z0-9_=-]{50,}"),
    ("package registries", r"pypi-\W{50,}", r"npm_[A-Za-z0-9]{36,}", r"rubygems_\H{48,}", r"cio[A-Za-z0-9]{32}"),
    ("package registries", r"dckr_(?:pat|oat)_\W{20,}", r"oy2[a-z0-9]{43}", r"AKCp[A-Za-z0-9]{60,}"),
    ("package registries", r"CLOJARS_[a-z0-9]{60,}"),
    ("Slack", r"xox[abceoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,}", r"xapp-[0-9]-[A-Za-z0-9-]{20,}"),
    ("Slack", r"xwfp-[A-Za-z0-9-]{20,}", r"xoxd-[A-Za-z0-9%/+_-]{40,}={0,2}"),
    ("Slack", r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{20,}"),
    ("Discord", r"https://(?:[a-z]+\.)?discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]{15,20}/\W{30,}"),
    ("Teams", r"https://[a-z0-9-]+\.webhook\.office\.com/webhookb2/[A-Za-z0-9@/_-]{40,}"),
    ("Telegram", r"[0-9]{8,10}:\W{33,37}"),
    ("Stripe", r"(?:sk|rk)_(?:live|test|prod)_[A-Za-z0-9]{10,}", r"whsec_[A-Za-z0-9+/]{24,}={0,2}"),
    ("Square, Shopify", r"sq0[a-z]{3}-\W{22,}", r"EAAA\W{60}", r"shp(?:at|ca|pa|ss|ua|tka)_[A-Fa-f0-9]{32,}"),
    ("Braintree, Razorpay", r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$\H{32,}"),
    ("Braintree, Razorpay", r"rzp_(?:live|test)_[A-Za-z0-9]{14,}"),
    ("payment", r"FLWSECK(?:_TEST)?-[0-9a-zA-Z]{12,}(?:-X)?", r"EZ[AT]K[A-Za-z0-9]{54,}"),
    ("payment", r"(?:live|test)_[A-Za-z0-9]{35}"),
    ("OpenAI", r"sk-(?:proj|svcacct|admin|None|service|live|test)-\W{20,}", r"sk-[A-Za-z0-9]{20,}"),
    ("OpenAI", r"sess-[A-Za-z0-9]{40,}"),
    ("Anthropic, OpenRouter", r"sk-ant-[a-z0-9]+-\W{20,}", r"sk-or-v1-\H{32,}"),
    ("Hugging Face, Groq, Replicate", r"hf_[A-Za-z0-9]{30,}", r"api_org_[A-Za-z0-9]{34,}", r"gsk_[A-Za-z0-9]{40,}"),
    ("Hugging Face, Groq, Replicate", r"r8_[A-Za-z0-9]{37,}"),
    ("Perplexity, xAI, NVIDIA", r"pplx-[A-Za-z0-9]{40,}", r"xai-[A-Za-z0-9]{60,}", r"nvapi-\W{40,}", r"tgp_v1_\W{40,}"),
    ("AI tools", r"fw_[A-Za-z0-9]{22,}", r"lsv2_(?:pt|sk)_\H{32}_\H{10,}", r"jina_[A-Za-z0-9]{40,}"),
    ("AI tools", r"tvly-[A-Za-z0-9-]{30,}"),
    ("AI tools", r"pa-\W{43}", r"wandb_v1_[A-Za-z0-9_]{40,}", r"pcsk_[A-Za-z0-9_]{50,}", r"sk_\H{48,}"),
    ("mail", r"SG\.\W{16,}\.\W{30,}", r"key-\H{32}", r"x(?:keysib|smtpsib)-\H{64}-[A-Za-z0-9]{16,}"),
    ("Resend, Twilio", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24,}", r"(?:SK|AC)\H{32}"),
    ("Meta, X", r"EAA[A-Za-z0-9]{80,}", r"AAAAAAAAA[A-Za-z0-9%]{60,}"),
    ("monitoring", r"gl(?:c|sa)_[A-Za-z0-9_+/]{30,}={0,2}", r"NRA[KL]-[A-Z0-9]{27,}"),
    ("monitoring", r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    ("monitoring", r"dt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64,}", r"ph[cx]_\W{40,}", r"aio_[A-Za-z0-9]{28,}"),
    ("Postman, Linear, Notion", r"PMAK-\H{24}-\H{34,}", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}", r"ntn_[A-Za-z0-9]{40,}"),
    ("Notion, Figma, Airtable", r"secret_[A-Za-z0-9]{43,}", r"fig[dour]_\W{20,}", r"pat[A-Za-z0-9]{14}\.\H{64,}"),
    (
        "PlanetScale, Supabase",
        r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.-]{32,}",
        r"sb[ps]_\H{40,}",
        r"sb_secret_\W{20,}",
    ),
    ("Mapbox, age, 1Password", r"[sp]k\.eyJ\W+\.\W{20,}", r"AGE-SECRET-KEY-1[A-Z0-9]{58,}"),
    ("Mapbox, age, 1Password", r"ops_eyJ[A-Za-z0-9+/]{200,}={0,3}"),
    ("OpenShift, Cloudflare", r"sha256~\W{43,}", r"cfut_[A-Za-z0-9]{40,}"),
    ("AWS session and Bedrock", r"(?:IQoJb3JpZ2lu|F[wQ]oGZXIvYXdz)[A-Za-z0-9+/%]{40,}={0,2}"),
    ("AWS session and Bedrock", r"bedrock-api-key-[A-Za-z0-9+/]{40,}={0,2}"),
    ("Google", r"AQ\.Ab\W{30,}"),
    (
        "Vercel, Neon, Render",
        r"vc[pairk]_(?:\W{48,}|[A-Za-z0-9]{24,})",
        r"napi_[A-Za-z0-9]{60,}",
        r"rnd_[A-Za-z0-9]{28,}",
    ),
    ("Cerebras, Langfuse, Firecrawl", r"csk-[A-Za-z0-9]{40,}", r"sk-lf-\H{8}(?:-\H{4}){3}-\H{12}", r"fc-\H{32}"),
    ("E2B, RunPod, Logfire", r"e2b_\H{40,}", r"rpa_[A-Za-z0-9]{36,}", r"pylf_v[0-9]_[a-z]{2}_[A-Za-z0-9]{40,}"),
    ("Databricks", r"dose\H{32}(?:-[0-9])?"),
    ("GitHub, stateless", r"gh[su]_[A-Za-z0-9]{1,24}_eyJ\W{10,}\.eyJ\W{10,}\.\W{10,}"),
    (
        "Cloudflare, Fly",
        r"cf(?:at|k)_[A-Za-z0-9]{40,}",
        r"v1\.0-\H{24}-\H{146,}",
        r"fm[12][ar]?_[A-Za-z0-9+/_-]{60,}={0,2}",
    ),
    ("1Password, Adobe", r"A3-[A-Z0-9]{6}-[A-Z0-9]{6}-?[A-Z0-9]{5}(?:-[A-Z0-9]{5}){3}", r"p8e-[A-Za-z0-9]{32,}"),
    ("Artifactory, ClickHouse", r"cmVmd[A-Za-z0-9]{59}", r"4b1d[A-Za-z0-9]{38}"),
    ("CI", r"CCIP(?:AT|RJ)_[A-Za-z0-9]{16,}_\H{40,}", r"bk(?:ua|pt|ct)_\H{40,}", r"sq[apu]_[a-z0-9]{40,}"),
    ("CI", r"snyk_(?:uat|sat)\.[A-Za-z0-9._-]{40,}", r"API-[A-Z0-9]{26}", r"tk-us-\W{48,}"),
    ("CI", r"(?:pat|sat)\.\W{22}\.\H{24}\.[A-Za-z0-9]{20,}", r"pn[ub]_[A-Za-z0-9]{36,}"),
    ("Contentful, HubSpot", r"CFPAT-\W{43,}", r"pat-(?:na|eu|ap)[0-9]-\H{8}(?:-\H{4}){3}-\H{12}"),
    (
        "Dropbox, Duffel",
        r"sl\.(?:u\.)?\W{120,}",
        r"duffel_(?:test|live)_[A-Za-z0-9_=-]{40,}",
        r"fio-u-[A-Za-z0-9_=-]{64,}",
    ),
    ("Infracost, LaunchDarkly", r"ico-[A-Za-z0-9]{32,}", r"(?:api|sdk)-\H{8}(?:-\H{4}){3}-\H{12}"),
    ("MailerSend, MaxMind", r"mlsn\.\H{64,}", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    ("Mandrill, ReadMe, Typeform", r"md-[A-Za-z0-9_-]{22}", r"rdme_[a-z0-9]{70,}", r"tfp_[A-Za-z0-9._=-]{40,}"),
    ("New Relic, Honeycomb, Axiom", r"NRI[IQ]-\W{32,}", r"hc[abx](?:ik|lk|mk)_[A-Za-z0-9]{50,}"),
    ("New Relic, Honeycomb, Axiom", r"xa[ap]t-\H{8}(?:-\H{4}){3}-\H{12}"),
    ("Paddle, Polar, Plaid", r"pdl_(?:live|sdbx)_apikey_[a-z0-9]{26}_[A-Za-z0-9]{22}_[A-Za-z0-9]{3,}"),
    ("Paddle, Polar, Plaid", r"polar_(?:oat|pat)_[A-Za-z0-9_]{30,}"),
    ("Paddle, Polar, Plaid", r"access-(?:sandbox|development|production)-\H{8}(?:-\H{4}){3}-\H{12}"),
    (
        "Shippo, Sourcegraph",
        r"shippo_(?:live|test)_[A-Fa-f0-9]{40,}",
        r"sgp_(?:[A-Za-z0-9]{16}_|local_)?\H{40,}",
        r"slk_\H{64,}",
    ),
    ("Tailscale, Trello", r"tskey-(?:api|auth|client|scim|webhook)-[A-Za-z0-9]{8,}-[A-Za-z0-9]{20,}", r"ATTA\H{60,}"),
    ("Trigger.dev, Inngest", r"tr_(?:dev|prod|stg|pat|preview)_[A-Za-z0-9]{20,}", r"signkey-[a-z]+-\H{32,}"),
    (
        "Yandex, Baidu",
        r"AQVN\W{35,}",
        r"t1\.[A-Z0-9a-z_-]{20,}={0,2}\.\W{86}={0,2}",
        r"bce-v3/ALTAK-[A-Za-z0-9]{20,}/\H{40,}",
    ),
    ("DingTalk, Feishu, WeCom", r"https://oapi\.dingtalk\.com/robot/send\?access_token=\H{64,}"),
    ("DingTalk, Feishu, WeCom", r"https://open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/[A-Za-z0-9-]{30,}"),
    ("DingTalk, Feishu, WeCom", r"https://qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=[A-Za-z0-9-]{30,}"),
    ("cloud", r"STS\.N[A-Za-z0-9]{16,}", r"CAIS[A-Za-z0-9+/_=-]{100,}", r"ucat_[A-Za-z0-9]{24,}", r"y0_\W{50,}"),
    ("cloud", r"FlyV1 [A-Za-z0-9=_,/+-]{100,}", r"dd[pwo]_[A-Za-z0-9]{36,}", r"SWMTKN-1-[a-z0-9]{49,}-[a-z0-9]{25,}"),
    ("databases", r"CCDB1_[A-Za-z0-9]{22}_[A-Za-z0-9]{40,}", r"mdb_sa_sk_\W{40,}", r"AVNS_\W{18,}"),
    ("databases", r"AstraCS:[A-Za-z]{20,}:\H{64,}", r"essu_\W{60,}={0,2}"),
    ("AI tools", r"sk-api-\W{100,}", r"apk_(?:user_)?[A-Za-z0-9+/]{80,}={0,2}", r"cog_[a-z2-7]{52,}"),
    ("AI tools", r"apify_api_[A-Za-z0-9]{36,}", r"bb_(?:live|test)_\W{27,}"),
    (
        "security",
        r"AIK_(?:CI_[A-Za-z0-9]{20,}|SECRET_[A-Za-z0-9]{64,})",
        r"endr\+[A-Za-z0-9-]{16}",
        r"waka_\H{8}(?:-\H{4}){3}-\H{12}",
    ),
    (
        "security",
        r"(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,}",
    ),
    ("networks", r"dnkey-[A-Z0-9=_-]{26}-[A-Z0-9=_-]{52,}", r"dnkey-[a-z0-9=_-]{26}-[a-z0-9=_-]{52,}"),
    ("work", r"cnvca\W{51,}", r"configcat-sdk-1/\W{22}/\W{22,}", r"pk_[0-9]{6,9}_[A-Z0-9]{32,}", r"pk_[a-f0-9]{34,}"),
    ("work", r"sm_[aps]at_[A-Za-z0-9]{16,}", r"s-s4t2(?:ud|af)-[A-Fa-f0-9]{64,}", r"eyJrIjoi[A-Za-z0-9+/]{40,}={0,2}"),
    ("sessions", r"_gitlab_session=[0-9a-z]{32,}", r"ZXlK[A-Za-z0-9+/_-]{60,}={0,2}"),
    ("JWT, JWE", r"eyJ\W{10,}\.eyJ\W{10,}(?:\.\W{10,})?", r"eyJ\W{10,}\.\W*\.\W{10,}\.\W{10,}\.\W{10,}"),
)
# Tokens that begin like any word: (pattern, what the prefilter looks for instead, lest its automaton grow without end).
LATE_TOKENS = (
    (r"[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}", r"Q~[A-Za-z0-9_~.-]{31}"),  # Azure client secrets
    (r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}", r"\.atlasv1\."),  # Terraform
    (r"[MNO]\W{23,27}\.\W{6}\.\W{27,45}", r"\.\W{6}\.\W{27}"),  # Discord
    (r"\H{32}-us[0-9]{1,2}", r"\H{8}-us[0-9]"),  # Mailchimp
    (r"[A-Za-z0-9]{52}JQQJ9[9D][A-Za-z0-9]{26}", r"JQQJ9[9D]"),  # Azure keys that say what they are
    (r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}", r"AZDO[A-Za-z0-9]{4}"),  # Azure DevOps
)
# A name that says secret, what stands between, and the whole run of a secret's characters, in quotes or not: an
# assignment, JSON, YAML, an environment file, a header, an XML element, a command's flag.
_ASSIGN = (
    r"(?:(?i:api[_-]?key|secret|token|passwd|password|pwd|credentials?|"
    r"(?:access|private|auth|signing|encryption|master|account|session|shared|client|service)[_-]?key)"
    r"(?:s|[_-][A-Za-z0-9_-]{0,24}|[A-Z][A-Za-z0-9_]{0,24})?\\?[\"'\]]{0,2}[ \t]{0,3}(?:=>|:=|=|:|>)[ \t]{0,3}|"
    r"--[a-z-]{0,24}(?:token|(?:api|secret|access|account|private|auth|encryption)-key|secret|password)\s{1,2})(?:\\?[\"'`])?([A-Za-z0-9_+/.~%-]{20,}={0,2})"
)
_ASSIGN_HINT = (
    r"(?:(?i:key|secret|token|passwd|password|pwd|credentials?)[A-Za-z0-9_-]*\\?[\"'\]]{0,2}\s*[:=>]+\s*|"
    r"--[a-z-]*(?:token|key|secret|password)\s+)\\?[\"'`]?[A-Za-z0-9_+/.~%-]{20}"
)
LABELLED = (
    (r"(?:AccountKey|SharedAccessKey|SharedSecret)=([A-Za-z0-9+/]{40,}={0,2})", "(?:Key|Secret)=[A-Za-z0-9+/]{40}"),
    (r"[?&;]sig=([A-Za-z0-9%+/]{40,}(?:%3[dD]|=){0,2})", "sig="),  # signed Azure addresses
    (  # AWS secret keys
        r"(?i:aws|secret)[^\n<>]{0,30}?[\"'=: ]([A-Za-z0-9/+]{40})",
        r"(?i:aws|secret)[^\n<>]*[\"'=: ][A-Za-z0-9/+]{40}",
    ),
    (
        r"(?i:authorization)[\"']?\s?[:=]\s?[\"']?(?i:bearer|basic|token)\s+([A-Za-z0-9._~+/-]{16,}={0,2})",
        r"(?i:authorization)[\"']?\s?[:=]",
    ),
    (  # a password in an address
        r"[A-Za-z][A-Za-z0-9+.-]{0,20}://[^\s:@/<>\"']{0,64}:([^\s@/<>\"'{}$]+)@",
        r"://[^\s:@/<>\"']*:[^\s@/<>\"'{}$]+@",
    ),
    (_ASSIGN, _ASSIGN_HINT),
)
_RUN = 16  # characters of a long run that the prefilter asks for
_SECRET_40, _PASSWORD, _ASSIGNED = 2, 4, 5  # places in LABELLED that need a second look
_BEGIN = r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----|---- BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY ----"
_END = _BEGIN.replace("BEGIN", "END")
_BODY = re.compile(r"[A-Za-z0-9+/=]{16}")
_TORN = re.compile(
    r"(?:(?:\\n|\\r|\s){0,4}(?:[A-Za-z-]{4,20}: [^\n<>]{1,80}\n|[A-Za-z0-9+/=]{16,})|"
    r"(?:\r?\n|\\n)[A-Za-z0-9+/]{1,15}={0,2}(?=\s*(?:\n|$)))+"
)
_MASKED = re.compile(r"x{6}|X{6}|\*{3}|\.{3}|0{12}|1234567890abcdef|(?i:your|placeholder|change_?me|redacted)")
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_NO_SECRET = re.compile(  # names about a secret: token_sha256, secretName, tokenizer
    r"(?:hash|sha_?\d*|md5|digest|checksum|fingerprint|name|path|file|dir|url|uri|type|arn|izer|ized?|count|version|"
    r"(?<![A-Za-z])id|(?-i:Id|ID)s?|expir\w*|endpoint|regex|pattern|address|contract|symbol)[^A-Za-z0-9]*\Z",
    re.IGNORECASE,
)
_NO_VALUE = re.compile(  # a UUID, a contract's address, a file, a dotted name
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|0x[0-9a-fA-F]{40}|\S*\.[a-z]{2,4}|"
    r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w{0,30})+"
)
_PLAIN_NAME = re.compile(r"[A-Z][A-Z0-9_]*=\Z|--")  # of an environment file, or a flag


def _spelled(source: str) -> str:
    return source.replace(r"\W", "[A-Za-z0-9_-]").replace(r"\H", "[0-9a-f]")


def _opening(source: str) -> str:
    """What the prefilter looks for instead of a token: it up to its first long run, and some of that run.

    Counting every run to its end costs the prefilter's automaton three times the states.
    """
    for run in re.finditer(r"\{([0-9]+)[^}]*\}", source):
        head = source[: run.start()]
        if int(run[1]) > _RUN and head.count("(") == head.count(")"):
            return f"{head}{{{_RUN}}}"
    return source


_EARLY = [_spelled(source) for _, *sources in TOKENS for source in sources]
_LATE = [_spelled(source) for source, _ in LATE_TOKENS]
HINTS = (
    f"(?:^|[^A-Za-z0-9_])(?:{'|'.join(map(_opening, _EARLY))})",
    *(_spelled(short) for _, short in (*LATE_TOKENS, *LABELLED)),
    _BEGIN,
)


@functools.cache
def _patterns():
    tokens = pattern(f"(?:^|[^A-Za-z0-9_])({'|'.join(_EARLY + _LATE)})")
    return tokens, tuple(pattern(source) for source, _ in LABELLED), pattern(f"({_BEGIN})|({_END})")


def find_keys(text: str, folded: bytes) -> list[tuple[int, int]]:
    """Return the spans of secrets. A private key is one span from BEGIN to END; public keys and certificates stay."""
    tokens, labelled, marks = _patterns()
    spans = _blocks(text, folded, marks) if b"PRIVATE KEY" in folded else []
    at = 0
    while match := tokens.search(folded, at):
        start, end = match.span(1)
        whole = not is_word(byte_at(folded, end))
        if whole and _plausible(text[start:end]):
            spans.append((start, end))
        # A token of open length that is none is passed over as a whole, else `xoxb-xoxb-...` would take quadratic time.
        at = end if whole else start + 3
    for place, search in enumerate(labelled):
        for match in search.finditer(folded):
            start, end = match.span(1)
            if place == _ASSIGNED:
                end -= len(folded[start:end]) - len(folded[start:end].rstrip(b"."))
            if not text[match.start() : end].isascii() or not _fits(place, text, folded, match.start(), start, end):
                continue
            spans.append((start, end))
    return spans


def _plausible(token: str) -> bool:
    """Whether a token is one: ASCII in the text itself, neither masked nor the same few characters over and over."""
    body = token[4:]
    if not token.isascii() or _MASKED.search(body) or len(set(body)) < 6:
        return False
    if not any(c.isdigit() or c.isupper() for c in body):
        return False  # words joined by hyphens
    return not token.startswith("sk-") or "-" in body or any(c.isdigit() for c in body)


def _fits(place: int, text: str, folded: bytes, first: int, start: int, end: int) -> bool:
    value = text[start:end]
    if place == _PASSWORD:
        if folded[max(0, start - 7) : start] == b"mailto:":
            return False
        return not re.fullmatch(r"[*.x%]+|%[a-z]|\[.*\]|\(.*\)", value)
    lower, upper, digit = (any(map(test, value)) for test in (str.islower, str.isupper, str.isdigit))
    if _MASKED.search(value) or len(set(value)) < 8:
        return False
    if place == _SECRET_40:
        after = byte_at(folded, end)
        return lower and upper and digit and not is_word(after) and after not in b"/+="
    if place == _ASSIGNED:
        return digit and (lower or upper) and _secret(text[first:start], value, text[end : end + 1])
    return True


def _secret(head: str, value: str, after: str) -> bool:
    """Whether the value after a name that says secret is one: no identifier, path, checksum or public address."""
    if _NO_SECRET.search(head) or _NO_VALUE.fullmatch(value) or (after and (after.isalnum() or after in "_([{@")):
        return False
    if head[-1] in "\"'`":
        return after in (head[-1], "\\")
    if _HEX.fullmatch(value):
        return len(value) >= 32
    mixed = any(map(str.islower, value)) and any(map(str.isupper, value))
    if _PLAIN_NAME.match(head):
        return mixed
    return mixed and len(value) >= 32 and sum(map(str.isdigit, value)) >= 3 and value[0] not in "./~"


def _blocks(text: str, folded: bytes, marks) -> list[tuple[int, int]]:
    """Return PEM and PGP private keys: BEGIN to the next END, or BEGIN and the lines of a key that was cut off."""
    spans, begin = [], None
    found = [(match.start(), match.end(), match.start(1) >= 0) for match in marks.finditer(folded)]
    for start, end, begins in [*found, (len(text), len(text), True)]:
        if begins:
            if begin is not None:
                torn = _TORN.match(text, begin[1], start)
                if torn and _BODY.search(torn.group()):
                    spans.append((begin[0], torn.end()))
            begin = (start, end)
        elif begin is not None:
            body = text[begin[1] : start]
            if "<" not in body and ">" not in body and _BODY.search(body):
                spans.append((begin[0], end))
            begin = None
    return spans
