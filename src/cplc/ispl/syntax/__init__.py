"""ISPL, the language of MCMAS 1.3, with the commitment operators of MCMAS+: text to tree, and tree to text."""
