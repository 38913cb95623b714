"""The assignment `attention`: what is right, what is asked, known mistakes, accepted variants."""
